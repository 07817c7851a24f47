package check

import (
	"fmt"
)

// Warning is an inequality that does not hold.
type Warning struct {
	Check string `json:"check"`
	Where string `json:"where"` // switch, port, priority group ...
	Text  string `json:"text"`
}

func (w Warning) String() string { return w.Where + ": " + w.Text + " (" + w.Check + ")" }

// Report is what the checks found in a file.
type Report struct {
	SchemaVersion int       `json:"schema_version"`
	File          string    `json:"file"`
	Switches      []string  `json:"switches"`
	Checks        []string  `json:"checks"` // that were made
	Warnings      []Warning `json:"warnings"`
	Remarks       []string  `json:"remarks"` // what the file says without effect
}

// Check is one question asked of a fabric.
type Check struct {
	Name  string
	Asks  string // what holds if it passes
	judge func(*Fabric, *warnings)
}

// Checks are all of them.
var Checks = []Check{
	{"headroom", "headroom >= what still arrives after an XOFF", headroom},
	{"pool", "reserved + headroom <= pool size", poolDivision},
	{"shared-headroom", "sum of headroom <= shared headroom pool", sharedHeadroom},
	{"egress-limit", "egress limit of a lossless queue >= ingress pool", egressLimit},
	{"shared-group", "no priority group has lossless and lossy classes", sharedGroup},
	{"shared-queue", "no queue has lossless and lossy classes", sharedQueue},
	{"pfc-group", "a priority is in pfc_enable if and only if its group has headroom", pfcGroup},
	{"watchdog", "refresh of a pause <= poll interval <= detection and restoration time", watchdog},
	{"frames", "frame pool >= buffer / shortest frame", frames},
	{"ecn-before-pfc", "t_ECN < bound of [DCQCN] section 4", ecnBeforePFC},
	{"ecn", "lossless queues mark", marks},
	{"roce-dscp", "DSCP 26 is lossless", roceDSCP},
	{"neighbour-pfc", "both ends of a link agree on what is lossless", neighbourPFC},
	{"neighbour-map", "both ends of a link send a code point to the same kind of class",
		neighbourMap},
	{"mtu", "a frame that one port takes fits all others", mtu},
	{"machine", "the machine accepts the configuration", machine},
}

// warnings collects what one check finds.
type warnings struct {
	check string
	list  []Warning
}

// unless adds a warning if the inequality does not hold.
func (w *warnings) unless(ok bool, where, format string, args ...any) {
	if !ok {
		w.list = append(w.list, Warning{w.check, where, fmt.Sprintf(format, args...)})
	}
}

// Run makes every check.
func (f *Fabric) Run() (found []Warning) {
	for _, c := range Checks {
		w := &warnings{check: c.Name}
		c.judge(f, w)
		found = append(found, w.list...)
	}
	return found
}

// File reads a file and checks it. The error says why it cannot be read.
func File(path string) (*Report, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	r := &Report{SchemaVersion: 1, File: path, Warnings: append([]Warning{}, f.Run()...),
		Remarks: []string{}}
	for _, c := range Checks {
		r.Checks = append(r.Checks, c.Name)
	}
	for _, s := range f.Switches {
		r.Switches = append(r.Switches, s.Name)
		for _, remark := range s.Config.Remarks() {
			r.Remarks = append(r.Remarks, s.Name+": "+remark.String())
		}
	}
	return r, nil
}
