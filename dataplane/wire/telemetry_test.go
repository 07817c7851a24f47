package wire

import (
	"encoding/hex"
	"testing"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/tests/require"
)

var telemetrySetters = []setter{
	{name: "hops", set: func(b []byte) { (*Telemetry)(b).SetHops(5) },
		want: map[int]byte{2: 0xf5},
		read: func(b []byte) bool { return (*Telemetry)(b).Hops() == 5 }},
	{name: "switch", set: func(b []byte) { (*TelemetryHop)(b).SetSwitch(1) },
		want: map[int]byte{0: 0, 1: 0, 2: 0, 3: 1},
		read: func(b []byte) bool { return (*TelemetryHop)(b).Switch() == 1 }},
	{name: "hop port", set: func(b []byte) { (*TelemetryHop)(b).SetPort(0x0102) },
		want: map[int]byte{4: 1, 5: 2},
		read: func(b []byte) bool { return (*TelemetryHop)(b).Port() == 0x102 }},
	{name: "hop queue", set: func(b []byte) { (*TelemetryHop)(b).SetQueue(3) },
		want: map[int]byte{6: 3},
		read: func(b []byte) bool { return (*TelemetryHop)(b).Queue() == 3 }},
	{name: "hop time", set: func(b []byte) { (*TelemetryHop)(b).SetTime(0x0102030405060708) },
		want: map[int]byte{8: 1, 9: 2, 10: 3, 11: 4, 12: 5, 13: 6, 14: 7, 15: 8},
		read: func(b []byte) bool { return (*TelemetryHop)(b).Time() == 0x0102030405060708 }},
	{name: "hop sent", set: func(b []byte) { (*TelemetryHop)(b).SetSent(9) },
		want: func() map[int]byte { m := zeros(16, 8); m[23] = 9; return m }(),
		read: func(b []byte) bool { return (*TelemetryHop)(b).Sent() == 9 }},
	{name: "hop queue length", set: func(b []byte) { (*TelemetryHop)(b).SetQueueLen(1 << 40) },
		read: func(b []byte) bool { return (*TelemetryHop)(b).QueueLen() == 1<<32-1 }},
	{name: "hop rate", set: func(b []byte) { (*TelemetryHop)(b).SetRate(400 * unit.GbPerSecond) },
		want: map[int]byte{28: 0x17, 29: 0xd7, 30: 0x84, 31: 0x00},
		read: func(b []byte) bool { return (*TelemetryHop)(b).Rate() == 400*unit.GbPerSecond }},
}

// withTelemetry returns a frame with a trailer of n records.
func withTelemetry(b []byte, n int) []byte {
	b = append([]byte{}, b...)
	for i := range n {
		var hop TelemetryHop
		hop.Init()
		hop.SetSwitch(uint32(1 + i))
		b = append(b, hop[:]...)
	}
	var foot Telemetry
	foot.Init()
	foot.SetHops(n)
	return append(b, foot[:]...)
}

// TestTelemetryIsFoundFromTheEnd: whatever is in front of it, with any number of hops; and not if
// a byte of it is different, or a record is missing.
func TestTelemetryIsFoundFromTheEnd(t *testing.T) {
	for hops := range TelemetryMaxHops + 1 {
		for _, padding := range []int{0, 1, 18} {
			b := withTelemetry(make([]byte, padding), hops)
			foot, ok := AsTelemetry(b)
			if !ok || foot.Hops() != hops {
				t.Fatalf("%d hops behind %d bytes are not found", hops, padding)
			}
			records := TelemetryHops(b, foot)
			if len(records) != hops*TelemetryHopLen {
				t.Fatalf("%d bytes of records, want %d hops", len(records), hops)
			}
			if hops > 0 {
				last, _ := AsTelemetryHop(records[len(records)-TelemetryHopLen:])
				if last.Switch() != uint32(hops) {
					t.Errorf("the last hop is %d, want %d", last.Switch(), hops)
				}
			}
			if _, ok := AsTelemetry(b[padding+1:]); ok {
				t.Errorf("%d hops are found in one byte too few", hops)
			}
		}
	}
	b := withTelemetry(nil, 1)
	for _, at := range []int{0, 1, 3} {
		bad := append([]byte{}, b...)
		bad[len(bad)-TelemetryFootLen+at]++
		if _, ok := AsTelemetry(bad); ok {
			t.Errorf("byte %d of the foot does not count", at)
		}
	}
	if _, ok := AsTelemetryHop(b[:TelemetryHopLen-1]); ok {
		t.Error("31 bytes are a record")
	}
}

// TestTsharkReadsTelemetry: the trailer is one to tshark too, and the packet in front of it is read
// as before, with nothing to complain about.
func TestTsharkReadsTelemetry(t *testing.T) {
	require.Tool(t, "tshark")
	for _, name := range []string{"rc_ack"} {
		frame := golden(t)[name]
		fields := []string{"ip.len", "ip.checksum.status", "udp.length", "infiniband.bth.opcode",
			"_ws.expert.message"}
		before := tshark(t, frame, fields)
		marked := withTelemetry(frame, 2)
		if after := tshark(t, marked, fields); after != before || before == "" {
			t.Errorf("%s: with a trailer tshark reads %q, without %q", name, after, before)
		}
		// A capture that does not say whether frames have their FCS lets tshark take the last
		// four bytes for it.
		want := hex.EncodeToString(marked[len(frame):len(frame)+2*TelemetryHopLen]) + " 0x1e7a1208"
		if got := tshark(t, marked, []string{"eth.trailer", "eth.fcs"}); got != want {
			t.Errorf("%s: tshark's trailer is %q, want %q", name, got, want)
		}
	}
}

// FuzzTelemetry: records that are found lie within the bytes.
func FuzzTelemetry(f *testing.F) {
	f.Add(withTelemetry(golden(f)["rc_ack"], 3))
	f.Add(withTelemetry(nil, 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		foot, ok := AsTelemetry(b)
		if !ok {
			return
		}
		records := TelemetryHops(b, foot)
		for len(records) > 0 {
			hop, ok := AsTelemetryHop(records)
			if !ok {
				t.Fatalf("a record of %d bytes", len(records))
			}
			was := *hop
			hop.SetQueueLen(hop.QueueLen())
			hop.SetRate(hop.Rate())
			hop.SetTime(hop.Time())
			hop.SetSent(hop.Sent())
			if *hop != was {
				t.Errorf("% x became % x", was, *hop)
			}
			records = records[TelemetryHopLen:]
		}
	})
}
