package classify

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
)

// FuzzClassify: no panic, and offsets lie within the frame and in order.
func FuzzClassify(f *testing.F) {
	for _, p := range []packet{
		{}, {V6: true, Tags: twoTags}, {Options: 40}, {More: true, Tags: vlan5},
	} {
		f.Add(p.Bytes(), uint8(0))
		f.Add(p.Bytes(), uint8(1))
	}
	f.Add(wiretest.PFC(1, map[uint8]uint16{0: 1}), uint8(0))
	f.Fuzz(func(t *testing.T, b []byte, trust uint8) {
		m := dcqcnMap()
		m.Trust = Trust(trust & 1)
		c := m.Classify(b)
		switch {
		case c.Kind == frame.Unclassified:
			t.Error("unclassified")
		case c.TC >= Classes:
			t.Errorf("class %d", c.TC)
		case c.L3Off != 0 && int(c.L3Off)+20 > len(b), c.L4Off != 0 && int(c.L4Off)+8 > len(b):
			t.Errorf("offsets beyond %d bytes: %+v", len(b), c)
		case c.L4Off != 0 && c.L4Off < c.L3Off+20, c.Kind.IsRoCE() && c.L4Off == 0:
			t.Errorf("offsets: %+v", c)
		}
	})
}

func BenchmarkClassify(b *testing.B) {
	m := dcqcnMap()
	for _, c := range []struct {
		name   string
		packet packet
	}{
		{"roce4", packet{DSCP: 26, Payload: 1040}},
		{"roce6", packet{V6: true, DSCP: 26, Payload: 1040}},
	} {
		b.Run(c.name, func(b *testing.B) {
			bytes := c.packet.Bytes()
			var tc uint8
			b.ReportAllocs()
			for b.Loop() {
				tc = m.Classify(bytes).TC
			}
			if tc != 3 {
				b.Fatalf("class %d", tc)
			}
		})
	}
}
