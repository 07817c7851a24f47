package perftest

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// reporter tells the user what happens and what came out.
type reporter interface {
	waiting()                    // the server waits for a client
	info(s *session)             // what is measured
	end(side string, keys *Keys) // one of the QPs
	header()
	// bandwidth reports a result, and with traffic both ways the peer's; it fails below the limit.
	bandwidth(own summary, peer *summary) error
	latency(t *roundTrips) error
	last() summary // result of ours
	done()
}

// The texts that scripts look for, of perftest 4.5.
const (
	ruler = "-----------------------------------------------------------------------" +
		"----------------"
	headBW      = " #bytes     #iterations    BW peak[%s]    BW average[%s]   MsgRate[Mpps]"
	headLatency = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]" +
		"    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] "
	headLatencyDuration = " #bytes        #iterations       t_avg[usec]    tps average"
	rowBW               = " %-7d    %-10d       %-7.2f            %-7.2f\t\t   %-7.6f"
	rowBWSmall          = " %-7d    %d           %-7.6f            %-7.6f            %-7.6f"
	rowLatency          = " %-7d %d          %-7.2f        %-7.2f      %-7.2f  \t" +
		"       %-7.2f     \t%-7.2f\t\t%-7.2f \t\t%-7.2f"
	rowLatencyDuration = " %-7d       %d            %-7.2f        %-7.2f"
	// smallGbits is what is printed with more digits.
	smallGbits = 0.1
)

// table prints as perftest does.
type table struct {
	c    *Config
	w    io.Writer
	mine summary
}

func (t *table) full() bool { return t.c.Output == OutputAll }

func (t *table) line(format string, args ...any) {
	if t.full() {
		fmt.Fprintf(t.w, format+"\n", args...)
	}
}

func (t *table) waiting() {
	if !t.c.client() {
		t.line("\n************************************\n* Waiting for client to connect... *\n" +
			"************************************")
	}
}

// title is the name of the test in the report.
func (c *Config) title() string {
	words := []string{verbs[c.Test.Verb].title}
	if c.Test.Verb == Atomic {
		words = append(words, string(c.AtomicType))
	}
	if c.Test.Kind == Latency {
		return strings.Join(append(words, "Latency", "Test"), " ")
	}
	if c.Bidirectional {
		words = append(words, "Bidirectional")
	}
	if c.PostList > 1 {
		words = append(words, "Post List")
	}
	return strings.Join(append(words, "BW", "Test"), " ")
}

func onOff(b bool) string {
	if b {
		return "ON"
	}
	return "OFF"
}

func (t *table) info(s *session) {
	c := t.c
	t.line("%s", ruler)
	t.line("                    %s", c.title())
	t.line(" Dual-port       : OFF\t\tDevice         : %s", s.attr.Name)
	t.line(" Number of qps   : %d\t\tTransport type : IB", c.QPs)
	t.line(" Connection type : RC\t\tUsing SRQ      : OFF")
	t.line(" PCIe relax order: Unsupported")
	t.line(" ibv_wr* API     : OFF")
	if c.client() || c.Bidirectional {
		t.line(" TX depth        : %d", c.TxDepth)
	}
	if c.PostList > 1 {
		t.line(" Post List       : %d", c.PostList)
	}
	if c.Test.Verb == Send && (!c.client() || c.Bidirectional) {
		t.line(" RX depth        : %d", c.RxDepth)
	}
	if c.Test.Kind == Bandwidth {
		t.line(" CQ Moderation   : %d", c.CQMod)
	}
	t.line(" Mtu             : %d[B]", s.g.mtu)
	t.line(" Link type       : Ethernet")
	t.line(" GID index       : %d", s.gid)
	if c.Test.Verb == Read || c.Test.Verb == Atomic {
		t.line(" Outstand reads  : %d", c.outReads(s.attr.MaxReadDepth))
	} else {
		t.line(" Max inline data : %d[B]", max(s.traffic.inline, 0))
	}
	t.line(" rdma_cm QPs\t : %s", onOff(c.CM))
	method := "Ethernet"
	if c.CM || c.CMData {
		method = "rdma_cm"
	}
	t.line(" Data ex. method : %s", method)
	t.line("%s", ruler)
}

func (t *table) end(side string, k *Keys) {
	text := fmt.Sprintf(" %s address: LID %s QPN %s PSN %s", side, hash(uint64(k.LID), 4),
		hash(uint64(k.QPN), 6), hash(uint64(k.PSN), 6))
	// perftest tells of outstanding reads and of memory where they are used.
	if t.c.Test.Verb == Read {
		text += " OUT " + hash(uint64(k.OutReads), 4)
	}
	if t.c.Test.Verb == Read || t.c.Test.Verb == Write {
		text += " RKey " + hash(uint64(k.RKey), 8) + " VAddr " + hash(k.VA, 16)
	}
	t.line("%s", text)
	var gid []string
	for _, octet := range k.GID.As16() {
		gid = append(gid, fmt.Sprintf("%02d", octet))
	}
	t.line(" GID: %s", strings.Join(gid, ":"))
}

// hash is C's %#0*x: the prefix counts towards the width, and zero has none.
func hash(v uint64, width int) string {
	if v == 0 {
		return strings.Repeat("0", width)
	}
	return fmt.Sprintf("0x%0*x", width-2, v)
}

func (c *Config) unitName() string {
	if c.Gbits {
		return "Gb/sec"
	}
	return "MB/sec"
}

func (t *table) header() {
	if t.c.Test.Kind == Latency && t.c.Test.oneSided() && !t.c.client() {
		return // it has nothing to measure
	}
	t.line("%s", ruler)
	switch {
	case t.c.Test.Kind == Bandwidth:
		t.line(headBW, t.c.unitName(), t.c.unitName())
	case t.c.Duration > 0:
		t.line(headLatencyDuration)
	default:
		t.line("%s", headLatency)
	}
}

func (t *table) bandwidth(own summary, peer *summary) error {
	t.mine = own
	total := own
	if peer != nil {
		total = own.plus(*peer)
	}
	switch t.c.Output {
	case OutputBandwidth:
		fmt.Fprintf(t.w, "%f\n", total.average)
	case OutputRate:
		fmt.Fprintf(t.w, "%f\n", total.rate)
	}
	t.row(total)
	if t.c.ReportBoth && peer != nil && !t.c.AllSizes {
		for _, side := range []struct {
			name string
			of   summary
		}{{"Local", own}, {"Remote", *peer}} {
			t.line("%s\n\n %s results: ", ruler, side.name)
			t.header()
			t.row(side.of)
		}
	}
	return t.c.limit(total)
}

func (t *table) row(s summary) {
	format := rowBW
	if t.c.Gbits && s.average < smallGbits {
		format = rowBWSmall
	}
	t.line(format, s.size, s.iterations, s.peak, s.average, s.rate)
}

// plus adds the rates of the other direction.
func (s summary) plus(o summary) summary {
	s.peak += o.peak
	s.average += o.average
	s.rate += o.rate
	return s
}

// limit compares a result with what was demanded.
func (c *Config) limit(s summary) error {
	var errs []error
	if s.average < c.LimitBW {
		errs = append(errs, fmt.Errorf("%w: %.2f %s, demanded %.2f", ErrLimit, s.average,
			c.unitName(), c.LimitBW))
	}
	if s.rate < c.LimitRate {
		errs = append(errs, fmt.Errorf("%w: %.6f Mpps, demanded %.6f", ErrLimit, s.rate,
			c.LimitRate))
	}
	return errors.Join(errs...)
}

func (t *table) latency(r *roundTrips) error {
	halves := t.c.Test.halves()
	if t.c.Duration > 0 {
		average, tps := r.duration(halves)
		if !t.full() {
			fmt.Fprintf(t.w, "%f\n", average)
		}
		t.line(rowLatencyDuration, r.size, r.count, average, tps)
		return nil
	}
	times := slices.Clone(r.times)
	if t.c.Unsorted {
		t.list(times, halves)
	}
	slices.Sort(times)
	if t.c.Histogram {
		t.list(times, halves)
	}
	l := latency(times, halves)
	if !t.full() {
		fmt.Fprintf(t.w, "%f\n", l.Average)
	}
	t.line(rowLatency, r.size, t.c.Iterations, l.Min, l.Max, l.Typical, l.Average, l.Stdev, l.P99,
		l.P999)
	return nil
}

// list prints every latency.
func (t *table) list(times []time.Duration, halves int) {
	fmt.Fprintln(t.w, "#, usec")
	for i, d := range times {
		fmt.Fprintf(t.w, "%d, %g\n", i+1, float64(d)/float64(halves)/float64(time.Microsecond))
	}
}

// duration is what is told of a run of a duration: the average latency in microseconds, and
// messages a second.
func (r *roundTrips) duration(halves int) (average, tps float64) {
	if r.count == 0 || r.window <= 0 {
		return 0, 0
	}
	tps = float64(r.count) / r.window.Seconds()
	return float64(r.window) / float64(time.Microsecond) / float64(halves) / float64(r.count), tps
}

func (t *table) last() summary { return t.mine }

func (t *table) done() { t.line("%s", ruler) }
