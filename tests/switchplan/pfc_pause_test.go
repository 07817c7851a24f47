package switchplan

import (
	"slices"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// The pause cases: from 20 us on a frame of each of seven classes every 10 us, and at 96 us, 196 us
// and 296 us a frame that stops some of them, for 4,096 quanta each: 209.7 us at 10 Gb/s.
const (
	loadEvery   = 10 * time.Microsecond
	loadCount   = 60
	stormStart  = 96 * time.Microsecond
	stormEvery  = 100 * time.Microsecond
	stormCount  = 3
	stormQuanta = 4096
)

// loadDSCPs is a DSCP of each class that has one.
var loadDSCPs = []uint8{dscpLossy, dscpBest, 5, dscpLossless, dscpOther, 46, 48}

// load is the data of a pause case, from port 0 to port 2.
func load(b *bench) (list []stream) {
	const in, out = 0, 2
	for _, dscp := range loadDSCPs {
		list = append(list, stream{port: in, at: b.now().Add(start), every: loadEvery,
			count: loadCount,
			frame: &packet{from: in, to: out, dscp: dscp, payload: 256}})
	}
	return list
}

// begun is when the frames of a class began to leave a port.
func (b *bench) begun(port int, tc uint8) (list []unit.Time) {
	data, _ := b.arrivals(port)
	for _, a := range data {
		if b.cfg.Ports[0].Classify.DSCP[a.class.DSCP] == tc {
			took := onWire(unit.Bytes(len(a.bytes)), b.cfg.Ports[port].Rate)
			list = append(list, a.at.Add(-took-b.delay))
		}
	}
	return list
}

// within is how many times lie between from and to.
func within(list []unit.Time, from, to unit.Time) (n int) {
	for _, at := range list {
		if at > from && at < to {
			n++
		}
	}
	return n
}

// takesEffect is when a control frame that the tester sends at at reaches the switch.
func (b *bench) takesEffect(port int, at unit.Time, n unit.Bytes) unit.Time {
	p := &b.cfg.Ports[port]
	return at.Add(onWire(n, p.Rate) + b.delay + p.PauseDelay)
}

// paused is a case in which storm stops exactly the given classes: none of their frames leaves
// while it lasts, all leave afterwards, and the other classes do not notice.
func paused(storm raw, stopped pfc.Set) func(b *bench) {
	return func(b *bench) {
		const out = 2
		begin := b.now()
		s := stream{port: out, at: begin.Add(stormStart), every: stormEvery, count: stormCount,
			frame: storm}
		b.send(append(load(b), s)...)
		b.run(begin.Add(start + (loadCount+30)*loadEvery))
		last := s.at.Add((stormCount - 1) * stormEvery)
		from := b.takesEffect(out, s.at, unit.Bytes(len(storm)))
		until := b.takesEffect(out, last, unit.Bytes(len(storm))).
			Add(pfc.Duration(stormQuanta, b.cfg.Ports[out].Rate))
		due := int(until.Sub(from) / loadEvery)
		var stops []uint8
		for _, dscp := range loadDSCPs {
			tc := b.cfg.Ports[0].Classify.DSCP[dscp]
			list := b.begun(out, tc)
			n := within(list, from.Add(grain), until.Add(-grain))
			switch {
			case n == 0:
				stops = append(stops, tc)
			case n < due-1:
				b.Errorf("class %d: %d frames left during the storm, %d were sent", tc, n, due)
			}
			if len(list) != loadCount {
				b.Errorf("class %d: %d of %d frames left", tc, len(list), loadCount)
			}
		}
		slices.Sort(stops)
		b.equal("stopped", stops, slices.Collect(stopped.All()))
		b.equal("dropped data", dataDrops(b.snapshot()), 0)
	}
}

// dataDrops is how many frames were dropped that are not MAC control.
func dataDrops(s *pipeline.Snapshot) uint64 {
	return s.Ledger.DroppedTotal().Frames - s.Ledger.Dropped[frame.DropMACControl].Frames -
		s.Ledger.Dropped[frame.DropMalformed].Frames
}

// asks is a PFC frame from the station at port 2.
func asks(quanta uint16, priorities ...uint8) raw { return pause(2, quanta, priorities...) }

// changed is a frame with some bytes other than it had.
func (r raw) changed(change func(b []byte)) raw {
	c := slices.Clone(r)
	change(c)
	return c
}

// body views a PFC frame behind its Ethernet header.
func pfcBody(b []byte) *wire.PFC { return (*wire.PFC)(b[wire.EthernetLen:]) }

// pauseCases are those of the PFC plans that differ in nothing but the frame that pauses.
var pauseCases = []struct {
	card
	storm   raw
	stopped pfc.Set
}{
	// test_pfc_pause_lossless_with_snappi.py
	{card{name: "test_pfc_pause_single_lossless_prio",
		checks: "PFC for one lossless priority stops it and nothing else"},
		asks(stormQuanta, losslessTC), pfc.SetOf(losslessTC)},
	{card{name: "test_pfc_pause_multi_lossless_prio",
		checks: "PFC for both lossless priorities stops both and nothing else"},
		asks(stormQuanta, losslessTC, otherTC), losslessSet},
	// test_pfc_pause_lossy_with_snappi.py
	{card{name: "test_pfc_pause_single_lossy_prio",
		checks: "PFC for a lossy priority stops nothing"}, asks(stormQuanta, lossyTC), 0},
	{card{name: "test_pfc_pause_multi_lossy_prio",
		checks: "PFC for all lossy priorities stops nothing"},
		asks(stormQuanta, 0, 1, 2, 5, 6, 7), 0},
	{card{name: "all-priority pause",
		checks: "PFC for all eight priorities stops the lossless two"},
		asks(stormQuanta, every...), losslessSet},
	// test_global_pause_with_snappi.py
	{card{name: "test_global_pause", checks: "a PAUSE frame stops nothing where PFC is on"},
		globalPause(stormQuanta), 0},
	// test_pfc_pause_zero_mac.py
	{card{name: "test_pfc_pause_zero_mac",
		checks: "PFC with the source address 0 stops its priority"},
		asks(stormQuanta, losslessTC).changed(func(b []byte) { clear(b[6:12]) }),
		pfc.SetOf(losslessTC)},
	// test_pfc_pause_unset_bit_enable_vector.py
	{card{name: "test_pfc_unset_cev_single_prio",
		checks: "quanta of a class that is not enabled stop nothing"},
		asks(stormQuanta, losslessTC).changed(func(b []byte) { pfcBody(b).SetEnabled(0) }), 0},
	{card{name: "test_pfc_unset_cev_multi_prio",
		checks: "quanta of classes that are not enabled stop nothing"},
		asks(stormQuanta, every...).changed(func(b []byte) { pfcBody(b).SetEnabled(0) }), 0},
	{card{name: "one class enabled, quanta for all",
		checks: "only the enabled class stops. IEEE 802.1Q-2022 36.1.3"},
		asks(stormQuanta, every...).changed(func(b []byte) {
			pfcBody(b).SetEnabled(1 << otherTC)
		}), pfc.SetOf(otherTC)},
	{card{name: "reserved octet of the enable vector",
		checks: "the upper octet of the class-enable vector is ignored"},
		asks(stormQuanta, losslessTC).changed(func(b []byte) { b[wire.EthernetLen+2] = 0xff }),
		pfc.SetOf(losslessTC)},
	{card{name: "unicast destination",
		checks: "PFC to the address of the port itself stops its priority"},
		asks(stormQuanta, losslessTC).changed(func(b []byte) {
			mac := switchMAC(2)
			copy(b, mac[:])
		}), pfc.SetOf(losslessTC)},
	{card{name: "long PFC frame", checks: "PFC of 512 bytes, with noise behind the body"},
		append(asks(stormQuanta, losslessTC), noise(452)...), pfc.SetOf(losslessTC)},
	// dataplane/test_malformed_pfc_frame_handling.py
	{card{name: "test_malformed_pfc_frame_handling (opcode)",
		checks: "a MAC control frame of another opcode stops nothing and goes nowhere"},
		asks(stormQuanta, losslessTC).changed(func(b []byte) { b[wire.EthernetLen] = 0x02 }), 0},
	{card{name: "test_malformed_pfc_frame_handling (length)",
		checks: "PFC that ends within the times is malformed and stops nothing"},
		asks(stormQuanta, losslessTC)[:wire.EthernetLen+wire.PFCLen-4], 0},
	{card{name: "enabled with zero quanta",
		checks: "XON for what is not paused changes nothing"}, asks(0, every...), 0},
}

func noise(n int) (b []byte) {
	for i := range n {
		b = append(b, byte(i*37+11))
	}
	return b
}

func globalPause(quanta uint16) raw {
	var f wire.ControlFrame
	f.Init(station(2).mac(), wire.OpPause)
	f.Pause().SetQuanta(quanta)
	return f[:]
}

// PFC, sonic-mgmt tests/snappi_tests/pfc: which frames pause what.
func TestPfcPause(t *testing.T) {
	for _, c := range pauseCases {
		t.Run(c.name, func(t *testing.T) {
			c.plan = &pfcPlan
			conform(t, c.card, paused(c.storm, c.stopped))
		})
	}
}

// Asymmetric PFC (SONiC: pfc_asym): a port that sends PFC and does not obey it, and one that obeys
// and does not send.
func TestAsymmetricPfc(t *testing.T) {
	conform(t, card{plan: &pfcPlan, name: "asymmetric PFC, not obeyed",
		checks: "a port that only sends PFC is stopped by none",
		config: func(c *pipeline.Config) { c.Ports[2].PFCObey = 0 }},
		paused(asks(stormQuanta, losslessTC, otherTC), 0))
	conform(t, card{plan: &pfcPlan, name: "asymmetric PFC, not sent",
		checks: "a port that only obeys sends no PFC when its group is full, and drops",
		config: func(c *pipeline.Config) { c.Ports[0].PFCSend = 0 }},
		func(b *bench) {
			n := packet{}.size()
			g := &b.cfg.Ports[0].Groups[losslessTC]
			const extra = 4
			snap := fill(b, dscpLossless, fits(b.cfg, g, n)+inHeadroom(g, n)+extra)
			_, control := b.arrivals(0)
			b.equal("PFC frames", len(control), 0)
			b.equal("dropped", snap.Ledger.Dropped[frame.DropHeadroom].Frames, extra)
			b.drain(2, every...)
		})
}

// LinkPause is the other kind of flow control: a port without PFC that obeys PAUSE stops whole.
// IEEE 802.3-2022 31B.
func TestLinkPause(t *testing.T) {
	conform(t, card{plan: &pfcPlan, name: "PAUSE where there is no PFC",
		checks: "a port that obeys PAUSE stops all classes",
		config: func(c *pipeline.Config) {
			p := &c.Ports[2]
			p.PFCSend, p.PFCObey, p.LinkPause = 0, 0, true
			for g := range p.Groups {
				p.Groups[g].Lossless, p.Groups[g].Headroom = false, 0
			}
		}}, paused(globalPause(stormQuanta), 0b0111_1111))
}
