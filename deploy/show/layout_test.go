package show

import (
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/switchd"
)

// The texts below are what sonic-utilities' own tests expect of the same numbers, to the space.

// want compares the two line by line.
func want(t *testing.T, got, expected string) {
	t.Helper()
	expected = strings.TrimPrefix(expected, "\n")
	g, e := strings.Split(got, "\n"), strings.Split(expected, "\n")
	for i := range max(len(g), len(e)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(e) {
			b = e[i]
		}
		if a != b {
			t.Errorf("line %d:\n got %q\nwant %q", i+1, a, b)
		}
	}
}

// ethernets is a switch with ports of SONiC's names.
func ethernets(names ...string) *switchd.State {
	st := &switchd.State{Name: "sw0"}
	for _, name := range names {
		st.Ports = append(st.Ports, switchd.PortState{Name: name})
	}
	return st
}

// count fills in base, base+1, ... base+7.
func count[N uint64 | int64](base N) (n [8]N) {
	for i := range n {
		n[i] = base + N(i)
	}
	return n
}

func TestPFCCounters(t *testing.T) {
	st := ethernets("Ethernet0", "Ethernet4")
	for i, base := range []uint64{200, 400} {
		p := &st.Ports[i]
		p.PFCReceived.Frames, p.PFCSent.Frames = count(base), count(base+10)
		p.PFCReceived.Frames[0], p.PFCSent.Frames[0] = base+1000, base+1010
	}
	const rx = `
  Port Rx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
Ethernet0   1,200     201     202     203     204     205     206     207
Ethernet4   1,400     401     402     403     404     405     406     407
`
	const tx = `
  Port Tx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
---------  ------  ------  ------  ------  ------  ------  ------  ------
Ethernet0   1,210     211     212     213     214     215     216     217
Ethernet4   1,410     411     412     413     414     415     416     417
`
	want(t, NewPFCCounters(st).Text(), rx+tx)
	b := NewPFCCounters(st)
	at := time.Date(2026, 11, 20, 12, 0, 0, 42_000, time.UTC)
	b.ClearedAt = &at
	const cached = "Last cached time was 2026-11-20 12:00:00.000042"
	want(t, b.Text(), cached+rx+"\n"+cached+tx)
}

func TestPFCHistory(t *testing.T) {
	st := ethernets("Ethernet0")
	r := &st.Ports[0].PFCReceived
	r.Transitions[3], r.PausedNs[3] = 23, 20_003_000
	r.RecentPausedNs[3], r.RecentAtNs[3] = 2_003_000, 33_333_333
	want(t, NewPFCHistory(st).Text(), `
     Port    Priority    RX Pause Transitions    Total RX Pause Time US    Recent RX Pause Time US    Recent RX Pause Timestamp
---------  ----------  ----------------------  ------------------------  -------------------------  ---------------------------
Ethernet0        PFC0                       0                         0                        N/A                          N/A
Ethernet0        PFC1                       0                         0                        N/A                          N/A
Ethernet0        PFC2                       0                         0                        N/A                          N/A
Ethernet0        PFC3                      23                    20,003                      2,003                   0.033333 s
Ethernet0        PFC4                       0                         0                        N/A                          N/A
Ethernet0        PFC5                       0                         0                        N/A                          N/A
Ethernet0        PFC6                       0                         0                        N/A                          N/A
Ethernet0        PFC7                       0                         0                        N/A                          N/A

`)
}

func TestPFCPriorityAndAsymmetric(t *testing.T) {
	st := ethernets("Ethernet0", "Ethernet2")
	st.Ports[0].PFCSend, st.Ports[0].PFCObey = []int{3, 4}, []int{3, 4}
	st.Ports[1].PFCObey = []int{0, 1, 2, 3, 4, 5, 6, 7}
	want(t, NewPFCPriority(st).Text(), `

Interface    Lossless priorities
-----------  ---------------------
Ethernet0    3,4
Ethernet2    N/A

`)
	want(t, NewPFCAsymmetric(st).Text(), `

Interface    Asymmetric
-----------  ------------
Ethernet0    off
Ethernet2    on

`)
}

func TestPFCWDStats(t *testing.T) {
	st := ethernets("Ethernet0", "Ethernet4", "Ethernet8")
	for i := range st.Ports {
		st.Ports[i].Watchdog.Priorities[3] = switchd.WatchedState{Watched: true, Queue: 3}
	}
	w := &st.Ports[0].Watchdog.Priorities[3]
	w.Stormed, w.Detected = true, 1
	w.TX, w.RX = pfc.Tally{OK: 100, Dropped: 300}, pfc.Tally{OK: 100, Dropped: 300}
	w.LastTX, w.LastRX = pfc.Tally{Dropped: 200}, pfc.Tally{Dropped: 200}
	w = &st.Ports[1].Watchdog.Priorities[3]
	w.Detected, w.Restored = 2, 2
	w.TX, w.RX = pfc.Tally{OK: 100, Dropped: 100}, pfc.Tally{OK: 100, Dropped: 100}
	b := NewPFCWDStats(st, false)
	want(t, b.Text(), `
      QUEUE       STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP    TX LAST OK/DROP    RX LAST OK/DROP
-----------  -----------  -------------------------  ------------  ------------  -----------------  -----------------
Ethernet0:3      stormed                        1/0       100/300       100/300              0/200              0/200
Ethernet4:3  operational                        2/2       100/100       100/100                0/0                0/0
`)
	if !b.Stormed() {
		t.Error("the storm on Ethernet0 is not seen")
	}
	st.Ports[0].Watchdog.Priorities[3].Stormed = false
	if NewPFCWDStats(st, false).Stormed() {
		t.Error("a storm where there is none")
	}
	if got := len(NewPFCWDStats(st, true).Queues); got != 3 {
		t.Errorf("%d queues with --empty, want 3", got)
	}
}

func TestPFCWDConfig(t *testing.T) {
	st := ethernets("Ethernet0", "Ethernet4", "Ethernet8")
	ms := time.Millisecond.Nanoseconds()
	st.Ports[0].Watchdog = switchd.WatchdogState{Action: "drop", PollNs: 200 * ms,
		DetectionNs: 200 * ms, RestorationNs: 200 * ms}
	st.Ports[1].Watchdog = switchd.WatchdogState{Action: "alert", PollNs: 200 * ms,
		DetectionNs: 400 * ms, RestorationNs: pfc.NeverRestore.Nanoseconds()}
	st.Ports[2].Watchdog.Action = "off"
	want(t, NewPFCWDConfig(st).Text(), `
Changed polling interval to 200ms
     PORT    ACTION    DETECTION TIME    RESTORATION TIME    HISTORY
---------  --------  ----------------  ------------------  ---------
Ethernet0      drop               200                 200     enable
Ethernet4     alert               400               never     enable
`)
}

func TestGroupTables(t *testing.T) {
	st := ethernets("Ethernet0", "Ethernet4")
	for i, base := range []int64{100, 200} {
		for n := range st.Ports[i].Groups {
			g, v := &st.Ports[i].Groups[n], base+int64(n)
			g.Shared.Watermark, g.Headroom.Watermark = v, v+1000
			g.Shared.PersistentWatermark, g.Headroom.PersistentWatermark = v+2000, v+3000
			g.DroppedPackets = uint64(v) + 4000
		}
	}
	want(t, NewGroupShared(st, User).Text(), `
Ingress shared pool occupancy per PG:
     Port    PG0    PG1    PG2    PG3    PG4    PG5    PG6    PG7
---------  -----  -----  -----  -----  -----  -----  -----  -----
Ethernet0    100    101    102    103    104    105    106    107
Ethernet4    200    201    202    203    204    205    206    207
`)
	want(t, NewGroupHeadroom(st, User).Text(), `
Ingress headroom per PG:
     Port    PG0    PG1    PG2    PG3    PG4    PG5    PG6    PG7
---------  -----  -----  -----  -----  -----  -----  -----  -----
Ethernet0   1100   1101   1102   1103   1104   1105   1106   1107
Ethernet4   1200   1201   1202   1203   1204   1205   1206   1207
`)
	if b := NewGroupShared(st, Persistent); b.Ports[1].Bytes != count[int64](2200) {
		t.Errorf("persistent shared: %v", b.Ports[1].Bytes)
	}
	if b := NewGroupHeadroom(st, Persistent); b.Ports[0].Bytes != count[int64](3100) {
		t.Errorf("persistent headroom: %v", b.Ports[0].Bytes)
	}
	want(t, NewGroupDrops(st).Text(), `
Ingress PG dropped packets:
     Port    PG0    PG1    PG2    PG3    PG4    PG5    PG6    PG7
---------  -----  -----  -----  -----  -----  -----  -----  -----
Ethernet0   4100   4101   4102   4103   4104   4105   4106   4107
Ethernet4   4200   4201   4202   4203   4204   4205   4206   4207
`)
}

func TestQueueCounters(t *testing.T) {
	st := ethernets("Ethernet0", "Ethernet4")
	for n := range st.Ports[0].Queues {
		q := &st.Ports[0].Queues[n]
		q.Sent = dataplane.Count{Frames: uint64(n) * 1000, Bytes: uint64(n) * 1500_000}
		q.Watermark = int64(n) * 10
	}
	q := &st.Ports[0].Queues[3]
	q.Marked = dataplane.Count{Frames: 19, Bytes: 19_000}
	q.DroppedPackets = map[string]uint64{"wred": 5, "queue_full": 2, "headroom": 100}
	q.DroppedBytes = map[string]uint64{"wred": 50, "queue_full": 20, "headroom": 1000}
	some := &Filter{NonZero: true}
	want(t, NewQueueCounters(st, some).Text(), `
     Port    TxQ    Counter/pkts    Counter/bytes    Drop/pkts    Drop/bytes
---------  -----  --------------  ---------------  -----------  ------------
Ethernet0    UC1           1,000        1,500,000            0             0
Ethernet0    UC2           2,000        3,000,000            0             0
Ethernet0    UC3           3,000        4,500,000            7            70
Ethernet0    UC4           4,000        6,000,000            0             0
Ethernet0    UC5           5,000        7,500,000            0             0
Ethernet0    UC6           6,000        9,000,000            0             0
Ethernet0    UC7           7,000       10,500,000            0             0

`)
	want(t, NewWREDCounters(st, some).Text(), `
     Port    TxQ    WredDrp/pkts    WredDrp/bytes    EcnMarked/pkts    EcnMarked/bytes
---------  -----  --------------  ---------------  ----------------  -----------------
Ethernet0    UC3               5               50                19             19,000

`)
	if got := len(NewQueueCounters(st, &Filter{}).Queues); got != 16 {
		t.Errorf("%d queues, want those of two ports", got)
	}
	want(t, NewQueueUnicast(st, User).Text(), `
Egress shared pool occupancy per unicast queue:
     Port    UC0    UC1    UC2    UC3    UC4    UC5    UC6    UC7
---------  -----  -----  -----  -----  -----  -----  -----  -----
Ethernet0      0     10     20     30     40     50     60     70
Ethernet4      0      0      0      0      0      0      0      0
`)
}

func TestPoolWatermarks(t *testing.T) {
	st := &switchd.State{Pools: []switchd.PoolState{
		{Name: "ingress_lossless_pool", UseState: switchd.UseState{Watermark: 1200},
			HeadroomSizeBytes: 44800, Headroom: switchd.UseState{Watermark: 7}},
		{Name: "egress_lossy_pool", UseState: switchd.UseState{PersistentWatermark: 9}},
	}}
	want(t, NewPoolWatermarks(st, User).Text(), `
Shared pool maximum occupancy:
                 Pool    Bytes
---------------------  -------
ingress_lossless_pool     1200
    egress_lossy_pool        0
`)
	want(t, NewHeadroomWatermarks(st, User).Text(), `
Headroom pool maximum occupancy:
                 Pool    Bytes
---------------------  -------
ingress_lossless_pool        7
`)
	if b := NewPoolWatermarks(st, Persistent); b.Pools[1].Bytes != 9 {
		t.Errorf("persistent: %+v", b.Pools)
	}
}

func TestInterfaces(t *testing.T) {
	st := ethernets("Ethernet0", "Ethernet4")
	p := &st.Ports[0]
	p.Up, p.RateBps, p.PFCSend = true, 40e9, []int{3}
	st.Ports[1].RateBps, st.Ports[1].MTU = 100e6, 4500
	p.Received[0], p.Received[3] = dataplane.Count{Frames: 5}, dataplane.Count{Frames: 3}
	p.Sent[1] = dataplane.Count{Frames: 1010}
	p.DroppedPackets = []map[string]uint64{{"malformed": 10, "buffer": 100, "queue_full": 7}}
	p.Queues[0].DroppedPackets = map[string]uint64{"queue_full": 7, "buffer": 55}
	rates := map[string]Rates{"Ethernet0": {2000e6, 1500e6, 0.64, 0.48}}
	want(t, NewInterfaceCounters(st, rates, time.Second, &Filter{}).Text(), `
    IFACE    STATE    RX_OK        RX_BPS    RX_UTIL    RX_ERR    RX_DRP    RX_OVR    TX_OK        TX_BPS    TX_UTIL    TX_ERR    TX_DRP    TX_OVR
---------  -------  -------  ------------  ---------  --------  --------  --------  -------  ------------  ---------  --------  --------  --------
Ethernet0        U        8  2000.00 MB/s     64.00%        10       100       N/A    1,010  1500.00 MB/s     48.00%       N/A         7       N/A
Ethernet4        D        0           N/A        N/A         0         0       N/A        0           N/A        N/A       N/A         0       N/A
`)
	want(t, NewInterfaceStatus(st).Text(), `
  Interface    Lanes    Speed    MTU    FEC    Alias    Vlan    Oper    Admin    Type    Asym PFC
-----------  -------  -------  -----  -----  -------  ------  ------  -------  ------  ----------
  Ethernet0      N/A      40G    N/A    N/A      N/A     N/A      up       up     N/A          on
  Ethernet4      N/A     100M   4500    N/A      N/A     N/A    down       up     N/A         off
`)
}

// Rates are of virtual time, and count on the line what preamble and gap take.
func TestRates(t *testing.T) {
	before, now := ethernets("a"), ethernets("a")
	now.VirtualNs = 1e6
	now.Ports[0].RateBps = 40e9
	// [IEEE 802.3] 1000 frames of 1000 bytes take 1024 octet times each: 8.192 Mb in a millisecond.
	now.Ports[0].Sent[3] = dataplane.Count{Frames: 1000, Bytes: 1000_000}
	got := NewRates(before, now)["a"]
	if got.TxBytesPerSecond != 1e9 || got.TxUtilisation != 8.192/40 || got.RxUtilisation != 0 {
		t.Errorf("rates %+v", got)
	}
	if len(NewRates(now, now)) != 0 {
		t.Error("rates while the clock stands")
	}
}
