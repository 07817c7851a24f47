package nic

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"pgregory.net/rapid"
)

// Whatever happens, the account balances after every call and no frame is lost without a name.
func TestLedgerUnderRandomInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, pool := newPeers(t, nil)
		now := unit.Time(0)
		var air []*frame.Frame // from a to b
		var back []*frame.Frame
		release := func(fs *[]*frame.Frame) *frame.Frame {
			f := (*fs)[0]
			*fs = (*fs)[1:]
			return f
		}
		t.Repeat(map[string]func(*rapid.T){
			"post": func(t *rapid.T) {
				n := rapid.IntRange(0, 5000).Draw(t, "n")
				if a.conns[0].qp.Stats.Messages < 100 {
					_ = a.Post(now, a.local.QPN, a.request(b, n))
				}
			},
			"transmit": func(*rapid.T) {
				if f := a.send(now); f != nil {
					air = append(air, f)
				}
				if f := b.send(now); f != nil {
					back = append(back, f)
				}
			},
			"deliver": func(t *rapid.T) {
				if len(air) > 0 {
					f := release(&air)
					if rapid.Bool().Draw(t, "damage") {
						at := rapid.IntRange(0, int(f.Len())-1).Draw(t, "at")
						f.Bytes()[at] ^= rapid.Byte().Draw(t, "xor")
					}
					b.give(now, f)
				}
				if len(back) > 0 {
					a.give(now, release(&back))
				}
			},
			"noise": func(t *rapid.T) {
				if f := pool.Get(); f != nil {
					f.Set(rapid.SliceOfN(rapid.Byte(), 14, 200).Draw(t, "bytes"))
					a.give(now, f)
				}
			},
			"pfc": func(t *rapid.T) {
				if pool.Free() > 0 {
					set := pfc.Set(rapid.Byte().Draw(t, "set"))
					a.give(now, pfcFrame(pool, set, rapid.Uint16().Draw(t, "quanta")))
				}
			},
			"time": func(t *rapid.T) {
				now += unit.Time(rapid.Int64Range(0, 100_000).Draw(t, "ns"))
				for _, p := range []*peer{a, b} {
					if p.NextWake() <= now {
						p.Wake(now)
					}
					if p.NextWake() <= now {
						t.Fatalf("at %v: woken, and again at %v", now, p.NextWake())
					}
				}
			},
			"link": func(t *rapid.T) { a.SetLink(now, Port, rapid.Bool().Draw(t, "up")) },
			"": func(t *rapid.T) {
				a.balanced(t)
				b.balanced(t)
				if pool.InUse() != len(air)+len(back) {
					t.Fatalf("%d frames in use, %d on the wire", pool.InUse(), len(air)+len(back))
				}
			},
		})
	})
}
