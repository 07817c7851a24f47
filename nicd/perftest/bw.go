package perftest

import (
	"context"
	"errors"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/rdma"
)

// directions says which way messages go in a measurement.
type directions struct{ send, receive bool }

// bandwidthRun is one measurement of bandwidth: messages of one size on all QPs.
type bandwidthRun struct {
	*traffic
	size int
	directions

	posted   []int // messages of each QP, and what of them is complete
	done     []int
	received []int

	sent, got record
}

// record is what happens to the messages of one direction, over all QPs.
type record struct {
	bandwidth
	total   int       // messages completed, counting or not
	started bool      // there was a first one
	stamped bool      // the NIC has told when it began
	end     unit.Time // when a run of a duration is over
}

// runBandwidth sends, receives, or both, and tells of both. If it is interrupted it tells what was
// measured until then, and why it ended.
func (t *traffic) runBandwidth(ctx context.Context, size int, d directions) (sent, got bandwidth,
	err error) {
	r := bandwidthRun{traffic: t, size: size, directions: d, posted: make([]int, len(t.qps)),
		done: make([]int, len(t.qps)), received: make([]int, len(t.qps))}
	r.sent.size, r.got.size = size, size
	r.sent.least = t.onWire(size)
	if n := t.c.Iterations * t.c.QPs; !t.c.NoPeak {
		r.sent.posted = make([]unit.Time, 0, n)
		r.sent.completed = make([]unit.Time, 0, n)
	}
	err = r.run(ctx)
	if errors.Is(err, errStalled) {
		switch want := t.c.Iterations * t.c.QPs; {
		case d.receive && r.got.total < want:
			err = t.stalled("received", r.got.total, want)
		default:
			err = t.stalled("sent", r.sent.total, want)
		}
	}
	return r.sent.bandwidth, r.got.bandwidth, err
}

func (r *bandwidthRun) run(ctx context.Context) error {
	for {
		if err := r.post(); err != nil {
			return err
		}
		if r.over() {
			return nil
		}
		cs, err := r.wait(ctx, r.until())
		if err != nil {
			return err
		}
		for i := range cs {
			if err := r.complete(&cs[i]); err != nil {
				return err
			}
		}
	}
}

// waiting reports whether we must not send yet: with SENDs both ways the server begins when the
// client has.
func (r *bandwidthRun) waiting() bool {
	return r.receive && !r.c.client() && !r.got.started
}

// post fills the send queues.
func (r *bandwidthRun) post() error {
	if !r.send || r.waiting() {
		return nil
	}
	for qp := range r.qps {
		for r.posted[qp]-r.done[qp]+r.c.PostList <= r.c.TxDepth && r.more(qp) {
			if err := r.postList(qp); err != nil {
				return err
			}
		}
	}
	return nil
}

// more reports whether there is something left to post. A run of a duration ends with a message
// that is completed, so that nothing stays behind unseen.
func (r *bandwidthRun) more(qp int) bool {
	if r.c.Duration == 0 {
		return r.posted[qp] < r.c.Iterations
	}
	return r.posted[qp]%r.c.CQMod != 0 || !r.sent.started || r.now() < r.sent.end
}

func (r *bandwidthRun) postList(qp int) error {
	r.wrs = r.wrs[:0]
	for range r.c.PostList {
		n := r.posted[qp]
		r.wrs = append(r.wrs, rdma.WR{})
		wr := &r.wrs[len(r.wrs)-1]
		r.request(wr, qp, n, r.size)
		r.stamp(qp, n, r.size)
		r.posted[qp]++
		// The first one tells when the NIC began.
		wr.Unsignaled = n > 0 && (n+1)%r.c.CQMod != 0 &&
			(r.c.Duration > 0 || n+1 != r.c.Iterations)
	}
	now := r.now()
	if !r.sent.started {
		r.sent.start(r.c, now, r.lost())
	}
	if !r.c.NoPeak {
		for range r.c.PostList {
			r.sent.posted = append(r.sent.posted, now)
		}
	}
	_, err := r.qps[qp].Post(r.wrs...)
	return err
}

// complete takes note of the end of one request or of the arrival of one message.
func (r *bandwidthRun) complete(c *rdma.Completion) error {
	if err := r.check(c); err != nil {
		return err
	}
	qp, count, receive := splitID(c.ID)
	if !receive {
		for n := r.done[qp]; n < count; n++ {
			if err := r.verifyFetched(qp, n, r.size); err != nil {
				return err
			}
		}
		if r.done[qp] == 0 {
			r.sent.begun(c.Posted)
		}
		r.sent.add(r.c, c, count-r.done[qp])
		r.done[qp] = count
		return nil
	}
	if !r.got.started {
		r.got.start(r.c, c.At, c.Lost)
	}
	r.got.add(r.c, c, 1)
	r.received[qp]++
	if err := r.verifyReceived(qp, count, c.Bytes); err != nil {
		return err
	}
	if next := count + r.c.RxDepth; r.c.Duration > 0 || next < r.c.Iterations {
		return r.postReceive(qp, next, r.size)
	}
	return nil
}

// over reports whether the measurement has ended. After a run of a duration SENDs may still be
// under way which nobody receives any more.
func (r *bandwidthRun) over() bool {
	want := r.c.Iterations * r.c.QPs
	if r.c.Duration == 0 {
		return (!r.send || r.sent.total == want) && (!r.receive || r.got.total == want)
	}
	if r.send && (!r.sent.started || r.now() < r.sent.end ||
		r.c.Test.Verb != Send && r.outstanding()) {
		return false
	}
	return !r.receive || r.got.started && r.now() >= r.got.end
}

func (r *bandwidthRun) outstanding() bool {
	for qp := range r.qps {
		if r.posted[qp] != r.done[qp] {
			return true
		}
	}
	return false
}

// until is the virtual time at which to look again even if nothing completes.
func (r *bandwidthRun) until() unit.Time {
	until := unit.Never
	for _, d := range []*record{&r.sent, &r.got} {
		if r.c.Duration > 0 && d.started && r.now() < d.end {
			until = min(until, d.end)
		}
	}
	return until
}

// start begins the record with the first message, when the NIC's clock had lost so much.
func (d *record) start(c *Config, now unit.Time, lost time.Duration) {
	d.started, d.first, d.last = true, now, now
	d.loss.begin(lost)
	if c.Duration > 0 {
		d.end = now.Add(c.Duration)
		d.first = now.Add(c.Margin)
		d.last = d.first
	}
}

// begun corrects the beginning, which the program has taken from its own reading of the clock: that
// may be ahead of the NIC's (rdma.Device.Now), and the program may have been suspended between the
// reading and the posting. The first completion of each QP tells when the NIC took its request.
func (d *record) begun(t unit.Time) {
	switch {
	case d.end != 0:
		return
	case !d.stamped:
		d.first, d.stamped = t, true
	default:
		d.first = min(d.first, t)
	}
}

// add counts n messages, the last of which has this completion. The result of a run of a duration
// covers what lies between its margins; its end is the end of that, once something came later.
func (d *record) add(c *Config, last *rdma.Completion, n int) {
	at := last.At
	d.total += n
	if c.Duration > 0 {
		to := d.end.Add(-c.Margin)
		switch {
		case at < d.first:
			d.loss.begin(last.Lost)
		case at <= to:
			d.messages += n
			d.last = at
			d.loss.to = last.Lost
		default:
			d.last = to
		}
		return
	}
	d.messages += n
	d.last = at
	d.loss.to = last.Lost
	if !c.NoPeak && d.completed != nil {
		for range n - 1 {
			d.completed = append(d.completed, 0)
		}
		d.completed = append(d.completed, at)
	}
}

// warmUp fills the send queue of each QP once and waits until it is empty.
func (t *traffic) warmUp(ctx context.Context, size int) error {
	for qp := range t.qps {
		depth := t.c.TxDepth / t.c.PostList * t.c.PostList
		for n := range depth {
			t.wrs = append(t.wrs[:0], rdma.WR{})
			t.request(&t.wrs[0], qp, n, size)
			t.wrs[0].Unsignaled = n+1 < depth
			if _, err := t.qps[qp].Post(t.wrs...); err != nil {
				return err
			}
		}
		cs, err := t.wait(ctx, unit.Never)
		if errors.Is(err, errStalled) {
			return t.stalled("warmed up with", 0, depth)
		}
		if err != nil {
			return err
		}
		if err := t.check(&cs[0]); err != nil {
			return err
		}
	}
	return nil
}
