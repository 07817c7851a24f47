package nic

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"pgregory.net/rapid"
)

// chaos is two NICs with frames in the air between them, and whatever else can happen to them.
type chaos struct {
	a, b *peer
	pool *frame.Pool
	now  unit.Time
	air  []*frame.Frame // from a to b
	back []*frame.Frame // from b to a
}

// Whatever happens, the account balances after every call and no frame is lost without a name.
func TestLedgerUnderRandomInput(t *testing.T) { chaosOn(t, nil) }

// The same with a receive pipeline on both sides that is slow, overflows, and stops.
func TestLedgerOfSlowReceivers(t *testing.T) {
	chaosOn(t, func(c *Config) {
		slow(c)
		c.Receive.MTT = MTTConfig{Entries: 2, PageSize: SmallPage, MissCost: 3 * time.Microsecond}
	})
}

func chaosOn(t *testing.T, change func(*Config)) {
	rapid.Check(t, func(t *rapid.T) {
		c := &chaos{}
		c.a, c.b, c.pool = newPeers(t, change)
		t.Repeat(map[string]func(*rapid.T){
			"post": func(t *rapid.T) {
				n := rapid.IntRange(0, 5000).Draw(t, "n")
				_ = c.a.Post(c.now, c.a.local.QPN, c.a.request(c.b, n)) // full is fine
			},
			"transmit": c.transmit,
			"deliver":  c.deliver,
			"noise": func(t *rapid.T) {
				if f := c.pool.Get(); f != nil {
					f.Set(rapid.SliceOfN(rapid.Byte(), 14, 200).Draw(t, "bytes"))
					c.a.give(c.now, f)
				}
			},
			"pfc": func(t *rapid.T) {
				if c.pool.Free() > 0 {
					set := pfc.Set(rapid.Byte().Draw(t, "set"))
					quanta := rapid.Uint16().Draw(t, "quanta")
					c.a.give(c.now, pfcFrame(c.pool, set, quanta))
				}
			},
			"time": c.time,
			"link": func(t *rapid.T) { c.a.SetLink(c.now, Port, rapid.Bool().Draw(t, "up")) },
			"stop": func(t *rapid.T) {
				if rapid.Bool().Draw(t, "stopped") {
					_ = c.b.StopReceiving(c.now) // not modelled is fine
				} else {
					_ = c.b.StartReceiving(c.now)
				}
			},
			"": c.check,
		})
	})
}

func (c *chaos) transmit(*rapid.T) {
	if f := c.a.send(c.now); f != nil {
		c.air = append(c.air, f)
	}
	if f := c.b.send(c.now); f != nil {
		c.back = append(c.back, f)
	}
}

func (c *chaos) deliver(t *rapid.T) {
	if len(c.air) > 0 {
		f := c.air[0]
		c.air = c.air[1:]
		if rapid.Bool().Draw(t, "damage") {
			at := rapid.IntRange(0, int(f.Len())-1).Draw(t, "at")
			f.Bytes()[at] ^= rapid.Byte().Draw(t, "xor")
		}
		c.b.give(c.now, f)
	}
	if len(c.back) > 0 {
		f := c.back[0]
		c.back = c.back[1:]
		c.a.give(c.now, f)
	}
}

func (c *chaos) time(t *rapid.T) {
	c.now += unit.Time(rapid.Int64Range(0, 100_000).Draw(t, "ns"))
	for _, p := range []*peer{c.a, c.b} {
		if p.NextWake() <= c.now {
			p.Wake(c.now)
		}
		if p.NextWake() <= c.now {
			t.Fatalf("at %v: woken, and again at %v", c.now, p.NextWake())
		}
	}
}

func (c *chaos) check(t *rapid.T) {
	c.a.balanced(t)
	c.b.balanced(t)
	flying, waiting := len(c.air)+len(c.back), 0
	for _, p := range []*peer{c.a, c.b} {
		waiting += p.waits(t)
	}
	if c.pool.InUse() != flying+waiting {
		t.Fatalf("%d frames in use, %d on the wire, %d wait", c.pool.InUse(), flying, waiting)
	}
}

// waits counts what waits for the receive pipeline anew, and compares all that the NIC says of it:
// bytes within the buffers, in the ledger, and against the thresholds.
func (p *peer) waits(t *rapid.T) (frames int) {
	var bytes [classes]unit.Bytes
	p.receiving.waiting.Each(func(f *frame.Frame) {
		frames++
		bytes[p.receiving.class(p.cfg.PFC, f)] += f.Len()
	})
	l, c := p.Ledger(), &p.cfg.Receive
	if bytes != p.receiving.bytes || uint64(frames) != l.Buffered.Frames ||
		uint64(bytes[lossless]+bytes[lossy]) != l.Buffered.Bytes {
		t.Fatalf("%d frames of %v bytes wait; told %v, ledger %v", frames, bytes,
			p.receiving.bytes, l.Buffered)
	}
	if bytes[lossless] > c.Buffer || bytes[lossy] > c.Lossy {
		t.Fatalf("%v bytes wait in %v and %v", bytes, c.Buffer, c.Lossy)
	}
	wanted := p.asking.Wanted()
	if bytes[lossless] > c.XOFF && wanted != p.cfg.PFC || bytes[lossless] <= c.XON && wanted != 0 {
		t.Fatalf("%d bytes wait, paused are %v", bytes[lossless], wanted)
	}
	if frames > 0 && !p.receiving.stopped && p.NextWake() == unit.Never {
		t.Fatal("frames wait for nothing")
	}
	return frames
}
