package switchd

import "github.com/rocelab/rocelab/switchd/sonic"

// The bodies of the control calls about configuration.
//
//	POST /v1/config    ConfigRequest -> ConfigResult   read the desired configuration and run it
//	POST /v1/qos       SetRequest    -> ConfigResult   change one field of what runs
//	GET  /v1/drift                   -> Drift          where what runs is not what is desired
//	GET  /v1/config_db                                 what runs, as a config_db.json

// ConfigRequest names the configuration to run. Path is a file on the daemon's machine and is the
// desired configuration from then on; Config is its text instead, with files in it relative to the
// present one. Without either the present file is read again, as with SIGHUP.
type ConfigRequest struct {
	Path   string `json:"path,omitempty"`
	Config string `json:"config,omitempty"`
}

// SetRequest changes one field of SONiC's tables while the switch runs: what `ecnconfig`, `pfcwd
// config` or `sonic-db-cli CONFIG_DB hset` do. The empty value takes the field out. The desired
// configuration stays as it is, so this is drift until the field is back or the file says so too.
type SetRequest struct {
	Table string `json:"table"` // as WRED_PROFILE, or in lower case
	Key   string `json:"key"`   // as AZURE_LOSSLESS, or swp1|3-4
	Field string `json:"field"`
	Value string `json:"value"`
}

// ConfigResult says what changed: in each difference desired is what runs now, running what ran
// before.
type ConfigResult struct {
	Changed []sonic.Difference `json:"changed"`
	Remarks []string           `json:"remarks,omitempty"` // what is said without effect
}

// Drift is where the running configuration is not the desired one. [RDMA at scale] section 5.1.
type Drift struct {
	// Error says why the desired configuration cannot be read; the differences are then to the
	// one that was read last.
	Error       string             `json:"error,omitempty"`
	Differences []sonic.Difference `json:"differences"`
}
