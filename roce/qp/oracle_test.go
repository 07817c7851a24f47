package qp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

var (
	seeds   = flag.Uint64("seeds", 2000, "how many reliable channels to try")
	oneSeed = flag.Int64("seed", -1, "try this one only")
)

// The oracle is a reliable channel: whatever the wire does, every message of either direction
// arrives whole, once and in order, and completes once, with success; every READ brings what is
// there; every atomic is executed once, in its place. Replay with -run TestReliableChannel -seed N.
func TestReliableChannel(t *testing.T) {
	from, to := uint64(0), *seeds
	if *oneSeed >= 0 {
		from, to = uint64(*oneSeed), uint64(*oneSeed)+1
	}
	var all Counters
	for seed := from; seed < to && !t.Failed(); seed++ {
		c := newChannel(t, rand.New(rand.NewPCG(seed, 4)))
		if c.run(); c.fault != "" {
			t.Errorf("seed %d: %s\n%+v\n%+v", seed, c.fault, c.ends[0].Config(),
				c.ends[0].counters)
		}
		for _, e := range c.ends {
			all.PacketSeqErr += e.counters.PacketSeqErr
			all.ImpliedNakSeqErr += e.counters.ImpliedNakSeqErr
			all.LocalAckTimeoutErr += e.counters.LocalAckTimeoutErr
			all.RNRNakRetryErr += e.counters.RNRNakRetryErr
			all.DuplicateRequest += e.counters.DuplicateRequest
		}
	}
	t.Logf("NAKs %d, implied %d, timeouts %d, RNR %d, duplicates %d", all.PacketSeqErr,
		all.ImpliedNakSeqErr, all.LocalAckTimeoutErr, all.RNRNakRetryErr, all.DuplicateRequest)
	if *oneSeed < 0 && (all.PacketSeqErr == 0 || all.ImpliedNakSeqErr == 0 ||
		all.LocalAckTimeoutErr == 0 || all.RNRNakRetryErr == 0 || all.DuplicateRequest == 0) {
		t.Error("a way of recovery was never taken")
	}
}

// Where in a region what lies: a source for what is sent, a place for what comes, one for what
// is fetched, and a counter for atomics.
const (
	arrivesAt = 16 << 10
	fetchedAt = 40 << 10
	counterAt = regionSize - AtomicLen
	stride    = 1600 // of fetched messages
	most      = 12   // messages of a direction
)

// stream is what one end does to the other.
type stream struct {
	from, to *side
	messages []message
	wanted   []int // those that take a receive
	posted   int
	done     int
	given    int // receives
	received int
}

// message is one work request and what must come of it.
type message struct {
	wr     WR
	at     int    // where its bytes are at the other end
	before uint64 // atomic: what it must find
}

type channel struct {
	ends    [2]*side
	streams [2]*stream
	wire    badWire
	now     unit.Time
	fault   string
}

func newChannel(t *testing.T, rng *rand.Rand) *channel {
	c := &channel{wire: badWire{rng: rng, faults: []float64{0, 0.01, 0.05, 0.15}[rng.IntN(4)]}}
	credits, mtu := rng.IntN(2) == 0, []int{256, 512, 1024}[rng.IntN(3)]
	depth, every, window := 1+rng.IntN(8), 1+rng.IntN(20), 1+rng.IntN(60)
	personality := somePersonality(rng)
	change := func(cfg *Config) {
		// Retries are counted from the last progress: 7 would run out in a wire this bad.
		cfg.Timeout, cfg.RetryCount, cfg.MinRNRTimer = 4, 255, 1
		cfg.MTU, cfg.Credits, cfg.ReadDepth, cfg.Resources = mtu, credits, depth, depth
		cfg.AckEvery, cfg.MaxOutstanding, cfg.Personality = every, window, personality
	}
	for i := range c.ends {
		c.ends[i] = newSide(t, uint64(i), change)
		if rng.IntN(3) == 0 {
			if err := c.ends[i].UseSRQ(NewSRQ(c.ends[i].mem, 1, 8)); err != nil {
				t.Fatal(err)
			}
		}
		c.ends[i].fill(byte(rng.Uint32()))
		binary.NativeEndian.PutUint64(c.ends[i].region.Bytes[counterAt:], 0)
	}
	connect(t, c.ends[0], c.ends[1], ib.MakePSN(uint32(-rng.IntN(50))),
		ib.MakePSN(rng.Uint32()))
	for i := range c.streams {
		c.streams[i] = newStream(rng, c.ends[i], c.ends[1-i])
	}
	return c
}

// somePersonality leaves half of the channels as they are by default. Delays stay below the
// timeout.
func somePersonality(rng *rand.Rand) (p Personality) {
	delay := func() time.Duration { return time.Duration(rng.IntN(3) * rng.IntN(20_000)) }
	if rng.IntN(2) == 0 {
		return p
	}
	p.NAKDelay, p.RetransmitDelay = delay(), delay()
	p.AckCoalesce.Delay = delay()
	if p.AckCoalesce.Delay > 0 {
		p.AckCoalesce.Packets = rng.IntN(5)
	}
	p.OutOfOrder, p.Recovery = OutOfOrder(rng.IntN(2)), Recovery(rng.IntN(2))
	return p
}

// give posts a receive, to the shared queue if there is one.
func (s *side) give(now unit.Time, wr ReceiveWR) error {
	if s.srq != nil {
		return s.srq.Post(wr)
	}
	return s.PostReceive(now, wr)
}

func newStream(rng *rand.Rand, from, to *side) *stream {
	s := &stream{from: from, to: to}
	at, adds := arrivesAt, uint64(0)
	for i := range rng.IntN(most + 1) {
		n := rng.IntN([]int{2, 300, 2000}[rng.IntN(3)])
		m := message{at: at, wr: WR{ID: uint64(i), Imm: rng.Uint32(), Local: from.local(i*7, n),
			Op: Op(rng.IntN(int(operations))), Remote: to.remote(at), Fence: rng.IntN(4) == 0}}
		switch op := m.wr.Op; {
		case op == Read:
			m.at = i * stride
			m.wr.Local = from.local(fetchedAt+i*stride, min(n, stride))
			m.wr.Remote = Remote{VA: to.library.VA + uint64(m.at), RKey: to.library.Key}
		case op.Atomic():
			m.wr.Local = from.local(fetchedAt+i*stride, AtomicLen)
			m.wr.Remote = to.remote(counterAt)
			m.before = adds
			m.wr.Atomic = ib.AtomicOperands{SwapAdd: 1}
			if op == CmpSwap { // succeeds only in its place in the order
				m.wr.Atomic = ib.AtomicOperands{SwapAdd: adds + 1, Compare: adds}
			}
			adds++
		default:
			at += n
		}
		if m.wr.Op.takesReceive() {
			s.wanted = append(s.wanted, i)
		}
		s.messages = append(s.messages, m)
	}
	return s
}

// run drives both until all is done, then compares memories.
func (c *channel) run() {
	for step := 0; c.fault == ""; step++ {
		busy := false
		for _, s := range c.streams {
			c.fault += s.feed(c.now, c.wire.rng)
			c.fault += s.check()
			busy = busy || s.done < len(s.messages) || s.received < len(s.wanted)
		}
		if !busy {
			break
		}
		if step > 200_000 {
			c.fault += "stuck"
		}
		moved := false
		for i, e := range c.ends {
			moved = c.wire.send(c.now, c.ends[1-i], e.next(c.now)) || moved
			moved = c.wire.send(c.now, c.ends[1-i], e.answer()) || moved
		}
		c.now += 300
		if at := min(c.wire.next(), c.ends[0].Deadline(), c.ends[1].Deadline()); !moved &&
			at != unit.Never {
			c.now = max(c.now, at)
		}
		c.wire.deliver(c.now)
		c.ends[0].Wake(c.now)
		c.ends[1].Wake(c.now)
	}
	if c.fault == "" {
		c.fault = c.compare()
	}
}

// feed posts what there is room for; receives come late, so that some find none.
func (s *stream) feed(now unit.Time, rng *rand.Rand) string {
	if s.posted < len(s.messages) && s.from.Post(now, s.messages[s.posted].wr) == nil {
		s.posted++
	}
	if s.given < len(s.wanted) && rng.IntN(4) == 0 {
		m := &s.messages[s.wanted[s.given]]
		err := s.to.give(now, ReceiveWR{ID: m.wr.ID,
			Local: s.to.local(m.at, m.wr.Local.Length)})
		if err == nil {
			s.given++
		} else if !errors.Is(err, ErrQueueFull) {
			return err.Error()
		}
	}
	return ""
}

// check takes the completions of what was sent, and of what arrived of it.
func (s *stream) check() string {
	for _, c := range s.from.sorted(false) {
		if c.Status != Success || c.ID != uint64(s.done) {
			return c.Op.String() + " completed with " + c.Status.String()
		}
		s.done++
	}
	for _, c := range s.to.sorted(true) {
		m := &s.messages[s.wanted[s.received]].wr
		imm := m.Op != Send
		if c.Status != Success || c.ID != m.ID || c.Bytes != m.Local.Length || c.HasImm != imm ||
			imm && c.Imm != m.Imm {
			return "received another message than was sent"
		}
		s.received++
	}
	return ""
}

// sorted polls, and returns the completions of receives or all others; what is not asked for now
// waits for when it is.
func (s *side) sorted(receives bool) (now []Completion) {
	var later []Completion
	for _, c := range append(s.late, s.polled()...) {
		if (c.Op == Receive) == receives {
			now = append(now, c)
		} else {
			later = append(later, c)
		}
	}
	s.late = later
	return now
}

// compare looks at every byte that went either way.
func (c *channel) compare() string {
	var placed [2]uint64
	for i, s := range c.streams {
		sent := 0
		for _, m := range s.messages {
			n := m.wr.Local.Length
			mine := s.from.region.Bytes[m.wr.Local.VA-s.from.region.VA:][:n]
			theirs := s.to.region.Bytes[m.at:]
			switch op := m.wr.Op; {
			case op == Read:
				theirs = s.to.library.Bytes[m.at:]
				placed[i] += uint64(n)
			case op.Atomic():
				theirs = binary.NativeEndian.AppendUint64(nil, m.before)
				placed[i] += uint64(n)
			default:
				sent += n
			}
			if !bytes.Equal(mine, theirs[:n]) {
				return m.wr.Op.String() + ": memory differs"
			}
		}
		placed[1-i] += uint64(sent)
		if s.from.Stats.BytesAcked != uint64(sent) {
			return "bytes acknowledged are not those sent"
		}
	}
	for i, e := range c.ends {
		if e.Stats.BytesReceived != placed[i] {
			return "bytes placed are not those sent"
		}
		if c.wire.faults == 0 && e.counters.RNRNakRetryErr == 0 &&
			e.Stats.PacketsRetransmitted != 0 {
			return "retransmissions without a fault"
		}
	}
	return ""
}
