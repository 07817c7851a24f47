package sonic

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/unit"
)

var (
	portNames = []string{"Ethernet0", "Ethernet4", "swp1", "swp10"}
	rowNames  = []string{"AZURE", "other", "third.one"}
)

// draw makes valid tables at random: what they refer to is there.
func draw(t *rapid.T) *Tables {
	d := &Tables{
		Ports: rows(t, "port", portNames, func() Port {
			return Port{Alias: rapid.SampledFrom([]string{"", "etp1"}).Draw(t, "alias"),
				Speed:      unit.MbPerSecond * unit.Rate(rapid.IntRange(0, 400).Draw(t, "speed")),
				MTU:        rapid.IntRange(0, 9216).Draw(t, "mtu"),
				Asymmetric: rapid.Bool().Draw(t, "asym")}
		}),
		Cables: rows(t, "cables", rowNames, func() Cables {
			return rapid.MapOf(rapid.SampledFrom(portNames),
				rapid.IntRange(0, 300)).Draw(t, "metres")
		}),
		DSCPToTC: drawMaps(t, 64), Dot1pToTC: drawMaps(t, 8), TCToPG: drawMaps(t, 8),
		TCToQueue: drawMaps(t, 8), PFCToQueue: drawMaps(t, 8), PFCToPG: drawMaps(t, 8),
		Schedulers: rows(t, "scheduler", rowNames, func() Scheduler { return drawScheduler(t) }),
		WRED:       rows(t, "wred", rowNames, func() WRED { return drawWRED(t) }),
		Watchdogs: rows(t, "watchdog", portNames, func() Watchdog {
			rules := []string{"paused", "undrained"}
			actions := []string{"drop", "forward", "alert"}
			return Watchdog{rapid.SampledFrom(actions).Draw(t, "action"), 1 + drawDuration(t),
				1 + drawDuration(t), rapid.SampledFrom(rules).Draw(t, "rule")}
		}),
		WatchdogAll: rows(t, "polling", []string{WatchdogGlobal},
			func() Polling { return Polling{drawDuration(t)} }),
		Switch: rows(t, "switch", []string{Global}, func() Switch {
			return Switch{rapid.SampledFrom([]string{"", "dscp", "pcp"}).Draw(t, "trust"),
				rapid.Uint8Range(0, 7).Draw(t, "default"), rapid.Uint8Range(0, 7).Draw(t, "flood"),
				rapid.Uint16().Draw(t, "quanta"), drawSize(t)}
		}),
		Pools: map[string]Pool{"in": {Ingress, "dynamic", 1 << 30, drawSize(t)},
			"out": {Egress, "", 1 << 30, 0}},
	}
	d.Profiles = map[string]Profile{"of-in": drawProfile(t, "in"), "of-out": drawProfile(t, "out")}
	d.PGs = slots(t, "group", func() BufferUse { return BufferUse{"of-in"} })
	d.BufferQueues = slots(t, "queue buffer", func() BufferUse { return BufferUse{"of-out"} })
	d.IngressLists = rows(t, "ingress list", portNames,
		func() List { return List{[]string{"of-in", "of-out"}} })
	d.EgressLists = rows(t, "egress list", portNames, func() List { return List{} })
	d.Queues = slots(t, "queue", func() Queue {
		return Queue{drawReference(t, d.Schedulers), drawReference(t, d.WRED)}
	})
	d.PortQoS = rows(t, "port QoS", append(portNames[:2:2], Global), func() PortQoS {
		return PortQoS{drawReference(t, d.DSCPToTC), drawReference(t, d.Dot1pToTC),
			drawReference(t, d.TCToPG), drawReference(t, d.TCToQueue),
			drawReference(t, d.PFCToQueue),
			drawReference(t, d.PFCToPG), drawPriorities(t), drawPriorities(t),
			drawReference(t, d.Schedulers)}
	})
	return d
}

// rows draws some of the keys and a row for each; nil for none, as Parse gives.
func rows[R any](t *rapid.T, label string, keys []string, row func() R) map[string]R {
	n := rapid.IntRange(0, len(keys)).Draw(t, label)
	if n == 0 {
		return nil
	}
	m := make(map[string]R)
	for _, k := range keys[:n] {
		m[k] = row()
	}
	return m
}

func slots[R any](t *rapid.T, label string, row func() R) map[string]R {
	keys := []string{"swp1|0", "swp1|1", "swp1|3", "swp1|4", "swp10|7", "Ethernet0|3"}
	return rows(t, label, keys, row)
}

func drawMaps(t *rapid.T, from uint8) map[string]Map {
	return rows(t, "map", rowNames, func() Map {
		return rapid.MapOf(rapid.Uint8Range(0, from-1), rapid.Uint8Range(0, 7)).Draw(t, "pairs")
	})
}

func drawReference[R any](t *rapid.T, to map[string]R) string {
	return rapid.SampledFrom(append(sorted(to), "")).Draw(t, "reference")
}

func drawSize(t *rapid.T) unit.Bytes {
	return unit.Bytes(rapid.Int64Range(0, 1<<29).Draw(t, "size"))
}

func drawDuration(t *rapid.T) time.Duration {
	return time.Duration(rapid.Int64Range(0, int64(time.Hour)-1).Draw(t, "duration"))
}

func drawPriorities(t *rapid.T) (p Priorities) {
	for v := range uint8(8) {
		if rapid.Bool().Draw(t, "priority") {
			p = append(p, v)
		}
	}
	return p
}

func drawProfile(t *rapid.T, pool string) Profile {
	p := Profile{Pool: pool, Size: drawSize(t), XON: drawSize(t), XONOffset: drawSize(t),
		Max: drawSize(t), Limit: Limit{Kind: Static, Static: drawSize(t)}}
	if rapid.Bool().Draw(t, "dynamic") {
		p.Limit = Limit{Kind: Dynamic, Alpha: drawAlpha(t)}
	}
	if pool == "in" {
		p.XOFF = drawSize(t)
	}
	return p
}

func drawScheduler(t *rapid.T) Scheduler {
	cir := rapid.Int64Range(0, 1e12).Draw(t, "cir")
	return Scheduler{Type: rapid.SampledFrom([]string{"DWRR", "WRR", "STRICT"}).Draw(t, "type"),
		Weight: rapid.IntRange(1, 100).Draw(t, "weight"), Meter: "bytes", CIR: unit.Rate(cir),
		PIR: unit.Rate(cir + rapid.Int64Range(1, 1e12).Draw(t, "pir")), CBS: drawSize(t),
		PBS: drawSize(t)}
}

func drawWRED(t *rapid.T) WRED {
	w := WRED{Drop: rapid.Bool().Draw(t, "drop"), Min: drawSize(t),
		Probability: rapid.Float64Range(0, 100).Draw(t, "probability"),
		ECN:         rapid.SampledFrom(ecnModes).Draw(t, "ecn"),
		MarkAt:      rapid.SampledFrom([]string{"enqueue", "dequeue"}).Draw(t, "mark")}
	w.Max = w.Min + drawSize(t)
	if rapid.Bool().Draw(t, "own curve") {
		low := drawSize(t)
		high, percent := low+drawSize(t), rapid.Float64Range(0, 100).Draw(t, "percent")
		w.ECNMin, w.ECNMax, w.ECNProbability = &low, &high, &percent
	}
	return w
}

// TestExportReadsBack: what is exported is read as the same tables, and exported the same again.
func TestExportReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := draw(t)
		if faults := want.Validate(); len(faults) > 0 {
			t.Fatalf("drawn wrong: %v", faults)
		}
		text := want.Export()
		got, _, err := Read(text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got\n%+v\nwant\n%+v\nby way of\n%s", got, want, text)
		}
		if again := got.Export(); string(again) != string(text) {
			t.Fatalf("second export\n%s\nfirst\n%s", again, text)
		}
		if c := want.Clone(); !reflect.DeepEqual(c, want) {
			t.Fatalf("the clone is\n%+v\nof\n%+v", c, want)
		}
	})
}

// TestExportHasSONiCsForm: ranges are joined again, and values are texts.
func TestExportHasSONiCsForm(t *testing.T) {
	tables, _, err := Read(database(t))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := ReadJSON(tables.Export())
	if err != nil {
		t.Fatal(err)
	}
	in, err := ReadJSON(database(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"BUFFER_PG", "BUFFER_PROFILE", "BUFFER_QUEUE", "DSCP_TO_TC_MAP",
		"PFC_WD", "PORT_QOS_MAP"} {
		if !reflect.DeepEqual(raw[table], in[table]) {
			t.Errorf("%s is exported as\n%v\nand was\n%v", table, raw[table], in[table])
		}
	}
	if _, there := raw["QUEUE"]["Ethernet0|0-2"]; !there {
		t.Errorf("queues alike are not joined: %v", sorted(raw["QUEUE"]))
	}
}

// TestDiffIsTheChange: after Set exactly that field differs, and after setting it back nothing.
func TestDiffIsTheChange(t *testing.T) {
	desired, _, err := Read(database(t))
	if err != nil {
		t.Fatal(err)
	}
	if d := Diff(desired, desired.Clone()); len(d) != 0 {
		t.Errorf("the same tables differ: %v", d)
	}
	for _, c := range []struct {
		table, key, field, value string
		want                     []string
	}{
		{"WRED_PROFILE", "AZURE_LOSSLESS", "green_max_threshold", "3MB", []string{
			"WRED_PROFILE|AZURE_LOSSLESS|green_max_threshold: desired 2097152, running 3000000"}},
		{"buffer_profile", "pg_lossless_100000_5m_profile", "dynamic_th", "-1", []string{
			"BUFFER_PROFILE|pg_lossless_100000_5m_profile|dynamic_th: desired -3, running -1"}},
		{"QUEUE", "Ethernet0|3-4", "wred_profile", "", []string{
			"QUEUE|Ethernet0|3|wred_profile: desired AZURE_LOSSLESS, running nothing",
			"QUEUE|Ethernet0|4|wred_profile: desired AZURE_LOSSLESS, running nothing"}},
		{"DSCP_TO_TC_MAP", "AZURE", "26", "3",
			[]string{"DSCP_TO_TC_MAP|AZURE|26: desired 1, running 3"}},
		{"SCHEDULER", "new", "type", "STRICT", []string{
			"SCHEDULER|new|cbs: desired nothing, running 0",
			"SCHEDULER|new|cir: desired nothing, running 0",
			"SCHEDULER|new|meter_type: desired nothing, running bytes",
			"SCHEDULER|new|pbs: desired nothing, running 0",
			"SCHEDULER|new|pir: desired nothing, running 0",
			"SCHEDULER|new|type: desired nothing, running STRICT",
			"SCHEDULER|new|weight: desired nothing, running 1"}},
	} {
		running, faults := desired.Set(c.table, c.key, c.field, c.value)
		if len(faults) > 0 {
			t.Errorf("%s|%s|%s: %v", c.table, c.key, c.field, faults)
			continue
		}
		var got []string
		for _, d := range Diff(desired, running) {
			got = append(got, d.String())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s|%s|%s: drift %q, want %q", c.table, c.key, c.field, got, c.want)
		}
	}
}

// TestSetRefuses: what cannot be, and what would say nothing.
func TestSetRefuses(t *testing.T) {
	tables, _, err := Read(database(t))
	if err != nil {
		t.Fatal(err)
	}
	before := tables.Export()
	for _, c := range [][4]string{
		{"VLAN", "x", "y", "1"}, {"QUEUE", "Ethernet0", "scheduler", "scheduler.0"},
		{"QUEUE", "Ethernet0|3", "scheduler", "nowhere"}, {"QUEUE", "Ethernet0|3", "colour", "red"},
		{"WRED_PROFILE", "AZURE_LOSSLESS", "red_min_threshold", "1"},
		{"WRED_PROFILE", "AZURE_LOSSLESS", "green_min_threshold", "9MB"},
		{"SCHEDULER", "scheduler.0", "weight", "101"}, {"SCHEDULER", "scheduler.0", "", "1"},
	} {
		if got, faults := tables.Set(c[0], c[1], c[2], c[3]); len(faults) == 0 || got != nil {
			t.Errorf("%v is taken", c)
		}
	}
	if string(tables.Export()) != string(before) {
		t.Error("a refused change was kept")
	}
}

// FuzzRead: no text makes the reader panic, and what it takes it exports and takes again.
func FuzzRead(f *testing.F) {
	f.Add(database(f))
	f.Add([]byte(`{"QUEUE": {"a,b|3-4": {"scheduler": "[SCHEDULER|s]"}}, "SCHEDULER": {"s": {}}}`))
	f.Add([]byte(`{"PORT_QOS_MAP": {"global": {"pfc_enable@": [3, "4"]}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, _, err := Read(text)
		if err != nil {
			return
		}
		again, _, err := Read(got.Export())
		if err != nil {
			t.Fatalf("the export is refused: %v", err)
		}
		if d := Diff(got, again); len(d) != 0 {
			t.Fatalf("the export differs: %v", d)
		}
	})
}
