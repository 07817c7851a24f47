package pipeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/conform"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/sim"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
)

const lineRate = 40 * unit.GbPerSecond

// blaster is a host that sends frames over and over whenever PFC lets it, and obeys PFC.
type blaster struct {
	pool   *frame.Pool
	frame  []byte   // nil: only receives
	frames [][]byte // or these by turns
	turn   int
	rx     pfc.Receiver
	ready  dataplane.PortSet
	ledger dataplane.Ledger
}

func (b *blaster) Receive(now unit.Time, _ dataplane.PortID, f *frame.Frame) {
	b.ledger.Received.Add(f.Len())
	if eth, ok := wire.AsEthernet(f.Bytes()); ok && eth.Type() == wire.TypeMACControl {
		body, _ := wire.AsPFC(f.Bytes()[wire.EthernetLen:])
		if b.rx.Receive(now, body) != 0 {
			b.ready.Add(0)
		}
	}
	b.ledger.Consume(f)
}

func (b *blaster) Transmit(now unit.Time, _ dataplane.PortID) *frame.Frame {
	next := b.frame
	if len(b.frames) > 0 {
		next = b.frames[b.turn%len(b.frames)]
	}
	if next == nil || b.rx.Paused(now).Has(3) {
		return nil
	}
	b.turn++
	f := b.pool.Get()
	f.Set(next)
	b.ledger.Generated.Add(f.Len())
	b.ledger.Sent.Add(f.Len())
	b.ready.Add(0)
	return f
}

func (b *blaster) Ready() *dataplane.PortSet { return &b.ready }
func (b *blaster) NextWake() unit.Time       { return b.rx.NextWake() }
func (b *blaster) Wake(now unit.Time) {
	if b.rx.Wake(now) != 0 {
		b.ready.Add(0)
	}
}
func (b *blaster) SetLink(unit.Time, dataplane.PortID, bool) {}
func (b *blaster) Ledger() dataplane.Ledger                  { return b.ledger }

// incast is senders on ports 0 to n-1 of a switch and a receiver on port n.
func incast(t *testing.T, n int, cfg Config) (*sim.Net, *bench, []*blaster) {
	b := newBench(t, cfg)
	net := sim.New(b.pool)
	sw := net.Add("switch", b.dev, n+1)
	b.node = sw
	var hosts []*blaster
	for i := range n + 1 {
		h := &blaster{pool: b.pool, rx: pfc.NewReceiver(pfc.ReceiverConfig{
			Rate: lineRate, Obeyed: pfc.SetOf(3)})}
		if i < n {
			h.frame = data(wiretest.MACOrNumber(i), wiretest.MACOrNumber(n), 1082)
			h.ready.Add(0)
		}
		hosts = append(hosts, h)
		mac := wiretest.MACOrNumber(i).MAC()
		if err := b.sw.MACs().AddStatic(mac, dataplane.PortID(i)); err != nil {
			t.Fatal(err)
		}
		node := net.Add(fmt.Sprintf("h%d", i), conform.Watch(h, 1), 1)
		net.Connect(node, 0, sw, dataplane.PortID(i),
			link.Config{Rate: lineRate, Delay: time.Microsecond})
	}
	return net, b, hosts
}

// TestIncastInVirtualTime: four hosts at 40 Gb/s into one port, PFC alone, links of 1 us. The
// headroom of [DCQCN] section 4 is enough, the receiver's link never idles, and all four get the
// same share.
func TestIncastInVirtualTime(t *testing.T) {
	const senders, end = 4, 5000 * us
	cfg := testConfig(senders + 1)
	cfg.Pools[0].Size = 2 * unit.MB
	net, b, hosts := incast(t, senders, cfg)
	net.Run(end)
	b.now = end
	b.check()
	if err := net.Check(); err != nil {
		t.Fatal(err)
	}
	var s Snapshot
	b.sw.Snapshot(end, &s)
	if n := s.Ledger.DroppedTotal().Frames; n != 0 {
		t.Errorf("dropped %d frames", n)
	}
	got := hosts[senders].ledger.Received.Frames
	if most := uint64(lineRate.BytesIn(time.Duration(end)) / wire.OnLine(1082)); got < most-12 {
		t.Errorf("received %d frames of the %d that fit", got, most)
	}
	for i := range senders {
		port := &s.Ports[i]
		if share := port.Received[3].Frames; share < got/senders*95/100 {
			t.Errorf("sender %d had %d frames of %d", i, share, got)
		}
		if port.PFCSent.Frames[3] == 0 || port.Groups[3].HeadroomWatermark == 0 {
			t.Errorf("port %d did without pausing", i)
		}
		t.Logf("port %d: %d PFC frames, paused %v, headroom up to %v", i, port.PFCSent.Frames[3],
			port.PFCSent.Paused[3], port.Groups[3].HeadroomWatermark)
	}
}

// TestSameSeedSameRun: two runs are the same to the last counter.
func TestSameSeedSameRun(t *testing.T) {
	run := func() (s Snapshot) {
		cfg := testConfig(3)
		cfg.Pools[0].Size = 700 * unit.KB
		net, b, _ := incast(t, 2, cfg)
		net.Run(2000 * us)
		b.sw.Snapshot(2000*us, &s)
		return s
	}
	first, second := run(), run()
	if fmt.Sprint(first) != fmt.Sprint(second) {
		t.Error("two runs with one seed differ")
	}
	if first.Ports[2].Queues[3].Marked.Frames == 0 {
		t.Error("nothing was marked, so the seed did not matter")
	}
}
