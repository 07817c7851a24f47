package qp

import (
	"testing"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// [SIGCOMM'16] 4.1: with one packet in every 16 lost, messages of 40 packets arrive by go-back-N
// and never by go-back-0, although the wire is always busy: the paper's three experiments, SEND,
// WRITE and READ.
func TestLivelockOfGoBack0(t *testing.T) {
	const size = 256 * 40
	for _, recovery := range []Recovery{GoBackN, GoBack0} {
		for _, op := range []Op{Write, Send, Read} {
			// The acknowledgements in the middle are the progress that renews the retries.
			a, b := pair(t, func(c *Config) { c.Recovery, c.AckEvery = recovery, 4 })
			a.fill(byte(op))
			b.fill(byte(op) + 9)
			if err := b.PostReceive(0, ReceiveWR{Local: b.local(size, size)}); err != nil {
				t.Fatal(err)
			}
			a.post(t, WR{Op: op, Local: a.local(0, size), Remote: b.remote(size)})
			packets, messages := lossy(t, a, b, 2000, 16)
			done := messages > 0
			if done != (recovery == GoBackN) {
				t.Errorf("%v, %v: complete: %v", recovery, op, done)
			}
			if !done && packets < 1900 {
				t.Errorf("%v: %d packets sent: not live", op, packets)
			}
			if recovery == GoBackN {
				continue
			}
			settle(t, 0, a, b) // and without loss the message arrives
			wantStatus(t, a.polled(), Success)
			sameBytes(t, op.String(), b.region.Bytes[size:2*size], a.region.Bytes[:size])
			if n := max(a.Stats.BytesAcked, a.Stats.BytesReceived); n != size {
				t.Errorf("%v: %d bytes acknowledged or fetched", op, n)
			}
			if n := b.Stats.BytesReceived; op != Read && n != size {
				t.Errorf("%v: %d bytes placed", op, n)
			}
		}
	}
}

// The paper's own experiment: messages of 4 MB in packets of 1 KB, and the switch drops each packet
// whose IP ID ends with 0xff, one in 256 of what the sender of the data sends. "The application
// level goodput was zero" with go-back-0, for SEND, WRITE and READ; with go-back-N it is what the
// repeats leave.
func TestLivelockOfThePaper(t *testing.T) {
	const size, packets = 4 << 20, 40_000
	for _, recovery := range []Recovery{GoBackN, GoBack0} {
		for _, op := range []Op{Send, Write, Read} {
			a, b := pair(t, func(c *Config) { c.Recovery, c.MTU = recovery, 1024 })
			for _, s := range []*side{a, b} {
				s.mem.Deregister(s.region)
				var err error
				if s.region, err = s.mem.Register(1, size, anyAccess); err != nil {
					t.Fatal(err)
				}
			}
			for range 8 {
				a.post(t, WR{Op: op, Local: a.localAt(0, size), Remote: b.remote(0)})
				if err := b.PostReceive(0, ReceiveWR{Local: b.localAt(0, size)}); err != nil {
					t.Fatal(err)
				}
			}
			sent, messages := lossy(t, a, b, packets, 256)
			if recovery == GoBack0 && (messages != 0 || sent < packets*99/100) {
				t.Errorf("%v, go-back-0: %d messages, %d packets sent", op, messages, sent)
			}
			if recovery == GoBackN && messages < 8 {
				t.Errorf("%v, go-back-N: %d messages of 8", op, messages)
			}
			t.Logf("%v, %v: %d messages complete after %d packets of data", recovery, op,
				messages, sent)
		}
	}
}

// lossy exchanges packets, each every-th of those with data lost. It returns how many those were,
// and how much of a's work completed.
func lossy(t *testing.T, a, b *side, steps, every int) (packets, messages int) {
	t.Helper()
	now, all := unit.Time(0), a.req.queue.len()
	for range steps {
		quiet := true
		for _, c := range []struct{ from, to *side }{{a, b}, {b, a}} {
			if p := c.from.next(now); p != nil {
				quiet = false
				data := len(opened(t, p).Payload) > 0
				if data {
					packets++
				}
				if !data || packets%every != 0 {
					c.to.receive(t, now, p)
				}
			}
			if p := c.from.answer(); p != nil {
				c.to.receive(t, now, p)
			}
		}
		if quiet {
			now = min(a.Deadline(), now+1<<30)
			a.Wake(now)
		}
		if messages = a.CQ().Len(); messages == all {
			break
		}
	}
	return packets, messages
}
