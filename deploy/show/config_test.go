package show

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/switchd"
	"github.com/rocelab/rocelab/switchd/sonic"
)

func TestBufferInformation(t *testing.T) {
	raw := sonic.Raw{
		"BUFFER_POOL": {"egress_lossless_pool": {"mode": "dynamic", "size": "13945824",
			"type": "egress"}},
		"BUFFER_PROFILE": {"headroom_profile": {"dynamic_th": "0", "pool": "ingress_lossless_pool",
			"size": "51200", "xoff": "32768", "xon": "18432"}},
	}
	const pool = `
Pool: egress_lossless_pool
----  --------
mode  dynamic
size  13945824
type  egress
----  --------

`
	const profile = `
Profile: headroom_profile
----------  ---------------------
dynamic_th  0
pool        ingress_lossless_pool
size        51200
xoff        32768
xon         18432
----------  ---------------------

`
	want(t, NewBuffer(Head{}, raw, Pools).Text(), pool)
	want(t, NewBuffer(Head{}, raw, BufferProfiles).Text(), profile)
	want(t, NewBuffer(Head{}, raw, Pools|BufferProfiles).Text(), pool+profile[1:])
}

func TestECN(t *testing.T) {
	raw := sonic.Raw{"WRED_PROFILE": {"AZURE_LOSSLESS": {"ecn": "ecn_all",
		"green_min_threshold": "1048576", "green_max_threshold": "2097152"}}}
	want(t, NewECN(Head{}, raw).Text(), `
Profile: AZURE_LOSSLESS
-------------------  -------
ecn                  ecn_all
green_max_threshold  2097152
green_min_threshold  1048576
-------------------  -------

`)
}

func TestDrift(t *testing.T) {
	want(t, NewDrift(Head{}, &switchd.Drift{}).Text(), "no drift\n")
	d := switchd.Drift{Error: "sw.yaml: gone", Differences: []sonic.Difference{
		{Table: "WRED_PROFILE", Key: "AZURE", Field: "ecn", Desired: "ecn_all"}}}
	want(t, NewDrift(Head{}, &d).Text(), `
Table         Key    Field    Desired    Running
------------  -----  -------  ---------  ---------
WRED_PROFILE  AZURE  ecn      ecn_all    -
the desired configuration cannot be read: sw.yaml: gone
`)
}

func TestEvents(t *testing.T) {
	e := daemon.Events{Missed: 1200, Events: []daemon.Event{{AtNs: 1_500_000, Source: "watchdog",
		Port: "swp1", Kind: "pfcwd_storm", Detail: "priority 3"}, {AtNs: 12, Source: "config",
		Kind: "config_set"}}}
	want(t, NewEvents(Head{}, e).Text(), `
  Time  Port    Source    Event        Detail
------  ------  --------  -----------  ----------
 1.5ms  swp1    watchdog  pfcwd_storm  priority 3
  12ns  -       config    config_set
1,200 earlier events are not kept
`)
}
