package sonic

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

func database(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/config_db.json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestReadsWhatSONiCWrites: the tables of a switch with four ports, as SONiC's QoS and buffer
// templates fill them.
func TestReadsWhatSONiCWrites(t *testing.T) {
	got, remarks, err := Read(database(t))
	if err != nil {
		t.Fatal(err)
	}
	if m := got.DSCPToTC["AZURE"]; len(m) != 64 || m[3] != 3 || m[26] != 1 || m[48] != 6 {
		t.Errorf("DSCP map %v", m)
	}
	port := PortQoS{DSCPToTC: "AZURE", TCToPG: "AZURE", TCToQueue: "AZURE", PFCToQueue: "AZURE",
		PFCToPG: "AZURE", PFCEnable: Priorities{3, 4}, WatchdogEnable: Priorities{3, 4}}
	if p := got.PortQoS["Ethernet12"]; !reflect.DeepEqual(p, port) {
		t.Errorf("port %+v", p)
	}
	if p := got.Pools["ingress_lossless_pool"]; p != (Pool{Ingress, "dynamic", 12766208, 0}) {
		t.Errorf("pool %+v", p)
	}
	lossless := Profile{Pool: "ingress_lossless_pool", XON: 2288, XONOffset: 2288, XOFF: 35840,
		Limit: Limit{Kind: Dynamic, Alpha: Alpha{1, 8}}}
	for _, key := range []string{"Ethernet0|3", "Ethernet8|4"} {
		if p := got.Profiles[got.PGs[key].Profile]; p != lossless {
			t.Errorf("%s: %+v", key, p)
		}
	}
	if q := got.Queues["Ethernet4|4"]; q != (Queue{"scheduler.1", "AZURE_LOSSLESS"}) {
		t.Errorf("queue %+v", q)
	}
	if w := got.WRED["AZURE_LOSSLESS"]; !w.Marks() || !w.Drop ||
		w.Marking() != (Curve{1048576, 2097152, 5}) {
		t.Errorf("WRED %+v", w)
	}
	if s := got.Schedulers["scheduler.0"]; s != (Scheduler{"DWRR", 14, "bytes", 0, 0, 0, 0}) {
		t.Errorf("scheduler %+v", s)
	}
	if w := got.Watchdogs["Ethernet0"]; w.Action != "drop" || w.Detection != 200*time.Millisecond {
		t.Errorf("watchdog %+v", w)
	}
	if got.Ports["Ethernet0"].Speed != 100*unit.GbPerSecond ||
		got.Cables["AZURE"]["Ethernet0"] != 5 {
		t.Errorf("port %+v, cable %v", got.Ports["Ethernet0"], got.Cables)
	}
	for _, want := range []string{"WRED_PROFILE|AZURE_LOSSLESS|red_min_threshold: no colours",
		"VLAN: not a QoS table: 1 row left", "PORT|lanes: not QoS: 4 rows left",
		"BUFFER_PORT_EGRESS_PROFILE_LIST|Ethernet0|profile_list: no limit for a port"} {
		if !slices.ContainsFunc(remarks, func(r Remark) bool {
			return strings.HasPrefix(r.String(), want)
		}) {
			t.Errorf("no remark %q in %v", want, remarks)
		}
	}
	if len(remarks) != 8+8+2+5 {
		t.Errorf("%d remarks: colours 8, port lists 8, tables 2, fields of PORT 5", len(remarks))
		for _, r := range remarks {
			t.Log(r)
		}
	}
}

// TestForms: each form that SONiC has used for keys, references and values.
func TestForms(t *testing.T) {
	const head = `"DSCP_TO_TC_MAP": {"AZURE": {"3": 3}}, "SCHEDULER": {"s": {"type": "STRICT"}},`
	for _, c := range []struct {
		name, text string
		ok         func(*Tables) bool
	}{
		{"old reference", `"PORT_QOS_MAP": {"a": {"dscp_to_tc_map": "[DSCP_TO_TC_MAP|AZURE]"}}`,
			func(t *Tables) bool { return t.PortQoS["a"].DSCPToTC == "AZURE" }},
		{"ports with commas", `"PORT_QOS_MAP": {"a,b": {"pfc_enable": "4,3"}}`,
			func(t *Tables) bool { return t.PortQoS["b"].PFCEnable.String() == "3,4" }},
		{"global", `"PORT_QOS_MAP": {"global": {"dscp_to_tc_map": "AZURE"}}`,
			func(t *Tables) bool { return t.PortQoS[Global].DSCPToTC == "AZURE" }},
		{"ports and a range", `"QUEUE": {"a,b|5-7": {"scheduler": "[SCHEDULER|s]"}}`,
			func(t *Tables) bool { return t.Queues["b|6"].Scheduler == "s" && len(t.Queues) == 6 }},
		{"numbers", `"PFC_WD": {"a": {"detection_time": 400}}`,
			func(t *Tables) bool { return t.Watchdogs["a"].Detection == 400*time.Millisecond }},
		{"a list", `"PORT_QOS_MAP": {"a": {"pfc_enable@": ["3", 4]}}`,
			func(t *Tables) bool { return t.PortQoS["a"].PFCEnable.String() == "3,4" }},
		{"an empty row", `"TC_TO_QUEUE_MAP": {"m": {"NULL": "NULL"}}`,
			func(t *Tables) bool { return t.TCToQueue["m"] != nil && len(t.TCToQueue["m"]) == 0 }},
		{"poll interval", `"PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "100"}}`,
			func(t *Tables) bool {
				return t.WatchdogAll[WatchdogGlobal].Interval == 100*time.Millisecond
			}},
	} {
		got, _, err := Read([]byte("{" + head + c.text + "}"))
		if err != nil || !c.ok(got) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

// TestFaults: what is wrong is named with table, key and field.
func TestFaults(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`"DSCP_TO_TC_MAP": {"A": {"64": "1"}}`, `DSCP_TO_TC_MAP|A|64: "64": want 0 to 63`},
		{`"DSCP_TO_TC_MAP": {"A": {"1": "8"}}`, `DSCP_TO_TC_MAP|A|1: "8": want 0 to 7`},
		{`"DSCP_TO_TC_MAP": {"A": {"1": "1", "01": "2"}}`, "DSCP_TO_TC_MAP|A|1: is given twice"},
		{`"PORT_QOS_MAP": {"a": {"tc_to_pg_map": "B"}}`,
			`PORT_QOS_MAP|a|tc_to_pg_map: TC_TO_PRIORITY_GROUP_MAP has no row "B"`},
		{`"PORT_QOS_MAP": {"a": {"tc_to_pg_map": "[QUEUE|B]"}}`,
			"want one to TC_TO_PRIORITY_GROUP_MAP"},
		{`"PORT_QOS_MAP": {"a": {"pfc_enable": "9"}}`, `PORT_QOS_MAP|a|pfc_enable: "9"`},
		{`"PORT_QOS_MAP": {"a|3": {}}`, `key "a|3": want a port`},
		{`"PORT_QOS_MAP": {"a": {}, "a,b": {}}`, "PORT_QOS_MAP|a: is given twice"},
		{`"QUEUE": {"a": {}}`, `key "a": want port|index`},
		{`"QUEUE": {"a|4-3": {}}`, `"3": want 4 to 7`},
		{`"QUEUE": {"a|3-4": {}, "a|4": {}}`, "QUEUE|a|4: is given twice"},
		{`"BUFFER_POOL": {"p": {"type": "both", "size": "1"}}`, `BUFFER_POOL|p|type: "both"`},
		{`"BUFFER_POOL": {"p": {"type": "ingress"}}`, "BUFFER_POOL|p|size: must be positive"},
		{`"BUFFER_POOL": {"p": {"type": "egress", "size": "9", "xoff": "1"}}`, "only an ingress"},
		{`"BUFFER_POOL": {"p": {"type": "ingress", "size": "9", "xoff": "9"}}`, "is part of size"},
		{`"BUFFER_PROFILE": {"p": {"dynamic_th": "1"}}`, "BUFFER_PROFILE|p|pool: is missing"},
		{`"BUFFER_PROFILE": {"p": {"pool": "x"}}`, "BUFFER_PROFILE|p: give dynamic_th or"},
		{`"BUFFER_PROFILE": {"p": {"dynamic_th": "1", "static_th": "1"}}`, "exclude each other"},
		{`"BUFFER_PG": {"a|3": {"profile": "NULL"}}`, "BUFFER_PG|a|3|profile: NULL leaves it"},
		{`"BUFFER_PG": {"a|3": {}}`, "BUFFER_PG|a|3|profile: is missing"},
		{`"BUFFER_POOL": {"e": {"type": "egress", "size": "9"}},
			"BUFFER_PROFILE": {"p": {"pool": "e", "static_th": "1"}},
			"BUFFER_PG": {"a|3": {"profile": "p"}}`, "BUFFER_PG|a|3|profile: p is of the egress"},
		{`"WRED_PROFILE": {"w": {"green_min_threshold": "9"}}`, "above green_max_threshold 0"},
		{`"WRED_PROFILE": {"w": {"ecn": "ecn_blue"}}`, `WRED_PROFILE|w|ecn: "ecn_blue"`},
		{`"WRED_PROFILE": {"w": {"green_drop_probability": "101"}}`, "want 0 to 100 percent"},
		{`"SCHEDULER": {"s": {"cir": "9", "pir": "8"}}`, "SCHEDULER|s|pir: 8: below cir 9"},
		{`"SCHEDULER": {"s": {"weight": "0"}}`, `SCHEDULER|s|weight: "0": want 1 to 100`},
		{`"PFC_WD": {"a": {"action": "ignore"}}`, `PFC_WD|a|action: "ignore"`},
		{`"PFC_WD": {"a": {"detection_time": "0"}}`, "must be positive"},
		{`"PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "x"}}`, "PFC_WD|GLOBAL|POLL_INTERVAL"},
		{`"ROCELAB": {"x": {}}`, "ROCELAB|x: no such key"},
		{`"QUEUE": {"a|3": {"scheduler": true}}`, "QUEUE|a|3|scheduler: true: want a text"},
		{`"QUEUE": {"a|3": []}`, "QUEUE|a|3: [: want \"{\""},
		{`"QUEUE": {}, "QUEUE": {}`, "QUEUE: is given twice"},
		{`"QUEUE": {"a|3": {}`, "unexpected EOF"},
	} {
		_, _, err := Read([]byte("{" + c.text + "}"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s:\n%v\nwant %s", c.text, err, c.want)
		}
	}
	if _, _, err := Read([]byte("{} {}")); err == nil {
		t.Error("two documents in one file were read")
	}
}
