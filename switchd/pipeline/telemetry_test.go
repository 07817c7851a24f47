package pipeline

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
	"github.com/rocelab/rocelab/switchd/qos"
	"github.com/rocelab/rocelab/tests/tshark"
)

// stamping returns a switch of two ports that stamps queue 3, with station 2 at port 1.
func stamping(t *testing.T, id uint32, change func(*Config)) *bench {
	t.Helper()
	c := testConfig(2)
	c.Telemetry = Telemetry{Queues: qos.QueueSet(0).With(3), Switch: id, Hops: 2, MaxFrame: 1518}
	if change != nil {
		change(&c)
	}
	b := newBench(t, c)
	if err := b.sw.MACs().AddStatic(wiretest.MACOrNumber(2).MAC(), 1); err != nil {
		t.Fatal(err)
	}
	return b
}

// hops returns the records in a frame whose IP packet is as it was sent.
func hops(t *testing.T, f, sent []byte) (list []wire.TelemetryHop) {
	t.Helper()
	if !bytes.HasPrefix(f, sent) {
		t.Fatalf("the frame itself changed: % x", f[:len(sent)])
	}
	foot, ok := wire.AsTelemetry(f[len(sent):])
	if !ok {
		return nil
	}
	for rest := wire.TelemetryHops(f, foot); len(rest) > 0; rest = rest[wire.TelemetryHopLen:] {
		list = append(list, wire.TelemetryHop(rest))
	}
	if want := len(sent) + len(list)*wire.TelemetryHopLen + wire.TelemetryFootLen; len(f) != want {
		t.Fatalf("%d bytes with %d records, want %d", len(f), len(list), want)
	}
	return list
}

// TestTelemetryTellsTheHop: three frames leave one after the other. Each says what the port had
// sent before it, and how many were behind it; the ledger counts what was added.
func TestTelemetryTellsTheHop(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		b := stamping(t, 77, nil)
		packet := wiretest.Packet{Src: 1, Dst: 2, DSCP: 26, ECN: wire.ECT0, V6: v6, Payload: 900}
		sent := packet.Bytes()
		n := uint64(len(sent))
		for range 3 {
			b.rx(0, sent)
		}
		b.wait(5 * us)
		const added = wire.TelemetryHopLen + wire.TelemetryFootLen
		for i := range uint64(3) {
			list := hops(t, b.tx(1), sent)
			if len(list) != 1 {
				t.Fatalf("frame %d has %d records", i, len(list))
			}
			h := list[0]
			if h.Switch() != 77 || h.Port() != 1 || h.Queue() != 3 || h.Time() != b.now ||
				h.Sent() != i*(n+added) || h.QueueLen() != unit.Bytes((2-i)*n) ||
				h.Rate() != 40*unit.GbPerSecond {
				t.Errorf("frame %d: switch %d port %d queue %d at %v, sent %d, %v behind, %v", i,
					h.Switch(), h.Port(), h.Queue(), h.Time(), h.Sent(), h.QueueLen(), h.Rate())
			}
			b.wait(us)
		}
		b.check()
		l := b.sw.Ledger()
		if l.Sent.Bytes != 3*(n+added) || l.Generated.Bytes != 3*added || l.Generated.Frames != 0 {
			t.Errorf("sent %v, generated %v", l.Sent, l.Generated)
		}
		if got := b.sw.ports[1].queues[3].stats; got.Stamped != 3 || got.NotStamped != 0 {
			t.Errorf("stamped %d, not %d", got.Stamped, got.NotStamped)
		}
	}
}

// TestTelemetryOfThreeSwitches: the second adds its record, the third finds two and leaves it.
func TestTelemetryOfThreeSwitches(t *testing.T) {
	sent := data(1, 2, 900)
	f := sent
	var last *bench
	for id := range uint32(3) {
		last = stamping(t, id, nil)
		last.rx(0, f)
		f = last.tx(1)
		last.check()
	}
	list := hops(t, f, sent)
	if len(list) != 2 || list[0].Switch() != 0 || list[1].Switch() != 1 {
		t.Fatalf("%d records: % x", len(list), list)
	}
	if got := last.sw.ports[1].queues[3].stats; got.Stamped != 0 || got.NotStamped != 1 {
		t.Errorf("stamped %d, not %d", got.Stamped, got.NotStamped)
	}
}

// TestTelemetryLeavesAlone: off, of another queue, not IP, or longer than a link carries; a frame
// that just fits is stamped.
func TestTelemetryLeavesAlone(t *testing.T) {
	const added = wire.TelemetryHopLen + wire.TelemetryFootLen
	arp := data(1, 2, 60)
	arp[12], arp[13] = 0x08, 0x06
	toClass3 := func(c *Config) { c.Ports[0].Classify.Default = 3 }
	for _, c := range []struct {
		name   string
		frame  []byte
		change func(*Config)
		want   int
	}{
		{"stamped", data(1, 2, 500), nil, 1},
		{"off", data(1, 2, 500), func(c *Config) { c.Telemetry = Telemetry{} }, 0},
		{"another queue", wiretest.Packet{Src: 1, Dst: 2, Payload: 100}.Bytes(), nil, 0},
		{"not IP", arp, toClass3, 0},
		{"fits", data(1, 2, 1518-added), nil, 1},
		{"one byte too long", data(1, 2, 1518-added+1), nil, 0},
	} {
		b := stamping(t, 1, c.change)
		b.rx(0, c.frame)
		if got := hops(t, b.tx(1), c.frame); len(got) != c.want {
			t.Errorf("%s: %d records, want %d", c.name, len(got), c.want)
		}
		b.check()
	}
}

// TestTelemetryIsShaped: what telemetry adds to a frame counts for the rate of its queue.
func TestTelemetryIsShaped(t *testing.T) {
	b := stamping(t, 1, func(c *Config) {
		c.Ports[1].Shaper.Queues[3] = qos.Shape{Max: 8 * unit.MbPerSecond, MaxBurst: 1}
	})
	b.fill(3, 1000, 2)
	if b.tx(1) == nil || b.tx(1) != nil {
		t.Fatal("want one frame now")
	}
	// 1000 + 36 + FCS bytes less the burst of 1, at a byte each microsecond.
	if at := b.sw.NextWake(); at != 1039*us {
		t.Errorf("the next goes at %v", at)
	}
}

// TestTsharkReadsOurTelemetry: the RoCE packet in front of two records is read as without them,
// and tshark has nothing to say against the frame.
func TestTsharkReadsOurTelemetry(t *testing.T) {
	sent := data(1, 2, 200)
	f := sent
	for id := range uint32(2) {
		b := stamping(t, id, nil)
		b.rx(0, f)
		f = b.tx(1)
	}
	fields := []string{"ip.len", "ip.checksum.status", "ip.dsfield.ecn", "udp.dstport",
		"udp.length", "_ws.expert.message"}
	if got, want := tshark.Fields(t, f, fields...), tshark.Fields(t, sent, fields...); got != want {
		t.Errorf("tshark reads %q, without telemetry %q", got, want)
	}
	const foot = " 0x1e7a1208" // taken for the FCS
	got := tshark.Fields(t, f, "eth.trailer", "eth.fcs")
	if !strings.HasSuffix(got, foot) || len(got) != 2*2*wire.TelemetryHopLen+len(foot) {
		t.Errorf("trailer %q", got)
	}
}

func TestTelemetryValidate(t *testing.T) {
	good := Telemetry{Queues: 1, Hops: 8, MaxFrame: 1518}
	for want, c := range map[string]Telemetry{
		"0 hops":  {Queues: 1, MaxFrame: 1518},
		"16 hops": {Queues: 1, Hops: 16, MaxFrame: 1518},
		"largest": {Queues: 1, Hops: 8, MaxFrame: 59},
	} {
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	for _, c := range []Telemetry{{}, good} {
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
	}
}
