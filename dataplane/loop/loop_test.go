package loop_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/clock"
	"github.com/rocelab/rocelab/dataplane/conform"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/loop/looptest"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// bench is a relay between two wires whose far ends belong to the test.
type bench struct {
	loop  *loop.Loop
	relay *conform.Relay
	watch *conform.Monitor
	near  [2]*looptest.Wire
	far   [2]*looptest.Wire
	pool  *frame.Pool
	links clock.Links

	cancel context.CancelFunc
}

func start(t *testing.T, open func() (loop.Wire, error)) *bench {
	t.Helper()
	return startLinked(t, open, func(*loop.Port) {})
}

// startLinked is start with a link of the lab at the second port.
func startLinked(t *testing.T, open func() (loop.Wire, error), second func(*loop.Port),
) *bench {
	t.Helper()
	b := &bench{relay: &conform.Relay{Keep: true}, pool: frame.NewPool(2048, 2048)}
	b.watch = conform.Watch(b.relay, 2)
	page := clock.Private(unit.Never)
	g, err := clock.NewGovernor(page, 1, 1e6)
	if err != nil {
		t.Fatal(err)
	}
	c, err := clock.NewClock(page, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	var ports []loop.Port
	for i, name := range []string{"left", "right"} {
		near, far, err := looptest.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		b.near[i], b.far[i] = near, far
		ports = append(
			ports,
			loop.Port{Name: name, Wire: near, TxLink: loop.NoLink, RxLink: loop.NoLink, Open: open,
				Link: link.Config{Rate: 40 * unit.GbPerSecond, Delay: time.Microsecond}},
		)
	}
	second(&ports[1])
	if b.links, err = clock.NewLinks(page, 1); err != nil {
		t.Fatal(err)
	}
	b.loop, err = loop.New(loop.Config{Device: b.watch, Pool: b.pool, Clock: c, Links: b.links,
		Ports: ports, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	b.cancel = cancel
	ended := make(chan error, 1)
	go func() { ended <- b.loop.Run(ctx) }()
	g.Start(1000)
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the loop ended with %v", err)
		}
		for _, f := range b.watch.Faults {
			t.Error(f)
		}
	})
	return b
}

// eventually asks on the loop's thread until ok, for ten seconds at most.
func (b *bench) eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for done := false; !done; {
		if err := b.loop.Do(func(unit.Time) { done = ok() }); err != nil {
			t.Fatal(err)
		}
		if ctx.Err() != nil {
			t.Fatalf("%s: not within 10 s", what)
		}
	}
}

func TestFramesCrossInOrderAtTheirStamps(t *testing.T) {
	b := start(t, nil)
	const frames = 40
	for i := range frames {
		b.far[0].Push(append(make([]byte, 1000), byte(i)))
	}
	b.eventually(
		t,
		"all frames sent on",
		func() bool { return b.relay.Ledger().Sent.Frames == frames },
	)
	b.eventually(t, "the pool is whole again", func() bool { return b.pool.InUse() == 0 })
	var got [64]loop.Arrival
	pool := frame.NewPool(64, 2048)
	for n, tag := 0, 0; tag < frames; {
		n = b.far[1].Receive(pool, got[:])
		for _, a := range got[:n] {
			if data := a.Frame.Bytes(); data[len(data)-1] != byte(tag) {
				t.Fatalf("frame %d carries tag %d", tag, data[len(data)-1])
			}
			tag++
		}
	}
	st, err := b.loop.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if st.Delivered.Count != frames || st.Arrived.Count != frames ||
		st.Ports[0].Received != frames {
		t.Errorf(
			"counted %d delivered, %d arrived, %+v",
			st.Delivered.Count,
			st.Arrived.Count,
			st.Ports,
		)
	}
	for i := 1; i < len(b.relay.Log); i++ {
		if b.relay.Log[i].At < b.relay.Log[i-1].At {
			t.Errorf("arrival %d at %v, before the one in front of it", i, b.relay.Log[i].At)
		}
	}
}

// Real senders know nothing of the emulated rate: what they send at once arrives one after the
// other, and no more of it than a NIC would hold.
func TestUnpacedArrivalsAreSerialised(t *testing.T) {
	b := start(t, nil)
	burst := make([][]byte, 40)
	for i := range burst {
		burst[i] = make([]byte, 976) // 1000 bytes on the line: 200 ns at 40 Gb/s
	}
	b.far[0].Push(burst...)
	b.eventually(t, "all have arrived", func() bool { return len(b.relay.Log) == len(burst) })
	for i := 1; i < len(burst); i++ {
		if gap := b.relay.Log[i].At - b.relay.Log[i-1].At; gap < 200 {
			t.Fatalf("arrival %d is %v ns after the one in front, want at least 200", i, int64(gap))
		}
	}
	flood := make([][]byte, 1000) // a megabyte
	for i := range flood {
		flood[i] = make([]byte, 976)
	}
	b.far[0].Push(flood...)
	b.eventually(t, "all is accounted for", func() bool {
		return uint64(len(b.relay.Log))+b.lost() == uint64(len(burst)+len(flood))
	})
	var lost uint64
	b.eventually(t, "the loss is counted", func() bool { lost = b.lost(); return lost > 0 })
}

// lost is what the first port lost, for the loop's thread.
func (b *bench) lost() uint64 { return b.loop.Lost(0) }

func TestPortGoesDownAndComesBack(t *testing.T) {
	var again *looptest.Wire
	reopened := make(chan struct{})
	attempts := 0
	b := start(t, func() (loop.Wire, error) {
		if attempts++; attempts < 2 {
			return nil, errors.New("still away")
		}
		near, far, err := looptest.Pipe()
		again = far
		close(reopened)
		return near, err
	})
	if err := b.loop.PortDown("right", errors.New("unplugged")); err != nil {
		t.Fatal(err)
	}
	if err := b.loop.PortDown("middle", nil); err == nil {
		t.Error("an unknown port went down")
	}
	b.far[0].Push(make([]byte, 100))
	b.eventually(
		t,
		"the frame waits or is dropped",
		func() bool { return b.relay.Ledger().Received.Frames == 1 },
	)
	<-reopened
	b.eventually(t, "port up", func() bool { return b.loop.Up(1) })
	b.far[0].Push(make([]byte, 100))
	b.eventually(
		t,
		"a frame leaves by the new wire",
		func() bool { return again.Stats().Received+b.relay.Ledger().Sent.Frames >= 1 },
	)
	st, err := b.loop.Stats()
	if err != nil || st.PortsDown != 1 {
		t.Errorf("ports down: %d, %v", st.PortsDown, err)
	}
}

// Everything that a switch is sent ends in its socket, so the other end tells when it arrives:
// ARP and the kernels' packets too, which between two switches arrive in virtual time like all
// others. Of what a NIC is sent, its host's kernel gets these, and the clock would wait in vain.
func TestWhatASocketGetsIsTold(t *testing.T) {
	kernels := []frame.Kind{frame.Malformed, frame.Other, frame.IPv4, frame.IPv6, frame.MACControl}
	for _, far := range []loop.FarEnd{loop.Switch, loop.NIC, ""} {
		b := startFar(t, far)
		for kind := frame.Unclassified; kind <= frame.CNM; kind++ {
			arrives := b.tell(t, kind, make([]byte, 100))
			if told := arrives != unit.Never; told != (far == loop.Switch ||
				!slices.Contains(kernels, kind)) {
				t.Errorf("far end %q, a frame of kind %v: told %v", far, kind, told)
			}
		}
	}
}

// A NIC of a lab answers ARP itself, so who asks it tells when the request arrives. What asks for
// another address goes to its host's kernel.
func TestAQuestionForANICIsTold(t *testing.T) {
	ip := netip.MustParseAddr("10.0.0.1")
	b := startLinked(t, nil, func(p *loop.Port) { p.TxLink, p.Far, p.FarIPv4 = 0, loop.NIC, ip })
	for target, told := range map[netip.Addr]bool{ip: true, ip.Next(): false} {
		request := make([]byte, wire.MinFrame)
		(*wire.Ethernet)(request).SetType(wire.TypeARP)
		arp := (*wire.ARP)(request[wire.EthernetLen:])
		arp.Init()
		arp.SetOperation(wire.ARPRequest)
		arp.SetTargetIP(target.As4())
		if arrives := b.tell(t, frame.Other, request); (arrives != unit.Never) != told {
			t.Errorf("a request for %v is to arrive at %v; told: want %v", target, arrives, told)
		}
	}
}

// startFar is start with a link that the clock knows, to a far end.
func startFar(t *testing.T, far loop.FarEnd) *bench {
	t.Helper()
	return startLinked(t, nil, func(p *loop.Port) { p.TxLink, p.Far = 0, far })
}

// tell sends a frame by the second port and returns when it was said to arrive: unit.Never if that
// was not said.
func (b *bench) tell(t *testing.T, kind frame.Kind, data []byte) (at unit.Time) {
	t.Helper()
	sent := b.near[1].Stats().Sent
	err := b.loop.Do(func(unit.Time) {
		f := b.pool.Get()
		f.Set(data)
		f.Meta.Class.Kind = kind
		b.relay.Originate(1, f)
	})
	if err != nil {
		t.Fatal(err)
	}
	b.eventually(t, "it has left", func() bool { return b.near[1].Stats().Sent == sent+1 })
	at = b.links.Next(0)
	b.links.Forget(0, 1)
	return at
}

// The ring of a veth drops what it has no room for, so no more than it holds is handed over before
// the other end has taken it.
func TestFramesOnTheWayAreBounded(t *testing.T) {
	b := startLinked(t, nil, func(p *loop.Port) { p.TxLink = 0 })
	const frames, bound = 250, 192
	burst := make([][]byte, frames)
	for i := range burst {
		burst[i] = append(make([]byte, 899), byte(i))
	}
	b.far[0].Push(burst...)
	pool := frame.NewPool(frames, 2048)
	arrived := make([]loop.Arrival, frames)
	take := func(want uint64) {
		t.Helper()
		b.eventually(t, "handed over", func() bool { return b.near[1].Stats().Sent == want })
		n := b.far[1].Receive(pool, arrived)
		b.links.Forget(0, n)
	}
	b.eventually(t, "all have arrived", func() bool { return len(b.relay.Log) == frames })
	take(bound)
	take(frames)
	b.eventually(t, "the pool is whole again", func() bool { return b.pool.InUse() == 0 })
}

func TestABrokenWireIsNoticedWhenSending(t *testing.T) {
	b := start(t, nil)
	b.near[1].Break()
	b.far[0].Push(make([]byte, 100))
	b.eventually(t, "port 1 is down", func() bool { return !b.loop.Up(1) })
	if !b.loop.Up(0) {
		t.Error("port 0 went down with it")
	}
	b.far[0].Push(make([]byte, 100))
	b.eventually(
		t,
		"the second frame arrived",
		func() bool { return b.relay.Ledger().Received.Frames == 2 },
	)
}

func TestEveryTicksAtMultiples(t *testing.T) {
	b := start(t, nil)
	var ticks []unit.Time
	err := b.loop.Every(time.Microsecond, func(now unit.Time) bool {
		ticks = append(ticks, now)
		return len(ticks) < 5
	})
	if err != nil {
		t.Fatal(err)
	}
	b.eventually(t, "five ticks", func() bool { return len(ticks) == 5 })
	for i, at := range ticks {
		if at%1000 != 0 || (i > 0 && at-ticks[i-1] != 1000) {
			t.Errorf("ticks at %v", ticks)
			break
		}
	}
}

func TestDoAfterTheEndIsRefused(t *testing.T) {
	b := start(t, nil)
	b.cancel()
	for b.loop.Do(func(unit.Time) {}) == nil {
		if t.Context().Err() != nil {
			t.Fatal("the loop did not end")
		}
	}
	if err := b.loop.Do(func(unit.Time) {}); !errors.Is(err, loop.ErrStopped) {
		t.Errorf("after the end: %v", err)
	}
}

func TestHist(t *testing.T) {
	var h loop.Hist
	for i := range 100 {
		h.Add(time.Duration(i))
	}
	h.Add(-5)
	h.Add(time.Second)
	if h.Count != 102 || h.Max != time.Second || h.Sum != 4950+time.Second {
		t.Errorf("count %d, max %v, sum %v", h.Count, h.Max, h.Sum)
	}
	if q := h.Quantile(0.5); q < 50 || q > 54 {
		t.Errorf("median %v, want 50..54 ns", q)
	}
	if n := h.Below(31); n != 33 {
		t.Errorf("%d durations up to 31 ns, want 33", n)
	}
	if q := h.Quantile(1); q != time.Second {
		t.Errorf("largest %v", q)
	}
}
