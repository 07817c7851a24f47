package perftest

import (
	"errors"
	"fmt"
	"time"
)

// Limits and defaults are those of perftest 4.5 (perftest_parameters.h), so that a command line
// means the same to both ends.
const (
	DefaultPort   = 18515
	maxSize       = 1<<31 - 1 // UINT_MAX / 2; a message is of 2 GB at most, IBTA 9.7.7.3
	largestOfAll  = 8 << 20   // the last size of -a
	minIterations = 5
	maxIterations = 100_000_000
	maxDepth      = 15_000 // of the send queue
	maxReceive    = 16_384 // of the receive queue
	maxQPs        = 16_384
	maxCQMod      = 1024
	maxInline     = 912
	atomicSize    = 8
	// largeMessage is the size above which every message is completed by itself unless asked
	// otherwise: fewer completions would make the time of the last one inexact.
	largeMessage = 8192
	// peakIterations is the number of messages above which the peak is not searched, because the
	// search looks at all pairs.
	peakIterations = 20_000
)

// AtomicType is the operation of an atomic test.
type AtomicType string

// The atomic operations, by perftest's names.
const (
	FetchAndAdd AtomicType = "FETCH_AND_ADD"
	CmpAndSwap  AtomicType = "CMP_AND_SWAP"
)

// Output says which single number is printed instead of the report.
type Output string

// What may be asked for by --output.
const (
	OutputAll       Output = ""
	OutputBandwidth Output = "bandwidth"
	OutputRate      Output = "message_rate"
	OutputLatency   Output = "latency"
)

// Config is what to measure. Both ends are given the same: perftest exchanges neither sizes nor
// numbers of messages.
type Config struct {
	Test Test

	NIC    string // the NIC's name in a lab, or the path of its verbs socket
	Server string // host to connect to; empty: be the server
	Port   uint16 // TCP port, or that of the connection manager's service
	CM     bool   // -R: the connection manager connects the QPs
	CMData bool   // -z: ordinary QPs; what is exchanged goes over a QP of the connection manager

	Size       int  // bytes a message
	AllSizes   bool // 2, 4, ... 2^23 bytes, one after the other
	Iterations int  // messages a QP
	// Duration replaces Iterations if it is not 0, in virtual time. The first and the last Margin
	// of it are not measured.
	Duration, Margin time.Duration

	QPs           int
	TxDepth       int // send requests outstanding a QP
	RxDepth       int // receives posted a QP
	PostList      int // requests posted at a time
	CQMod         int // messages a completion
	Inline        int // bytes up to which requests carry the message; -1: as the NIC likes
	Outstanding   int // READs or atomics in flight a QP; 0: as many as both NICs can
	AtomicType    AtomicType
	Bidirectional bool

	MTU          int   // path MTU in bytes; 0: the port's
	Timeout      uint8 // of a QP: 4.096 us x 2^Timeout
	Retries      uint8
	GIDIndex     int // which of the NIC's addresses; -1: its first of the wanted family
	IPv6         bool
	TrafficClass uint8 // DSCP and ECN bits
	ServiceLevel uint8 // priority; on RoCEv2 DSCP = SL x 8, unless TrafficClass is given

	WarmUp   bool // send before measuring
	NoPeak   bool
	Check    bool          // fill messages with a pattern and compare what arrives
	Patience time.Duration // real time without any progress after which a wait is given up

	Gbits      bool // report Gb/s instead of MB/s
	ReportBoth bool
	Unsorted   bool // print every latency, in order of time
	Histogram  bool // print every latency, sorted
	Output     Output
	LimitBW    float64 // fail below this average bandwidth, in the report's unit
	LimitRate  float64 // fail below this rate, in millions of messages a second
}

// Defaults is what the program of that name does without options.
func Defaults(t Test) Config {
	c := Config{Test: t, Port: DefaultPort, Size: 65536, Iterations: 1000, QPs: 1, TxDepth: 128,
		RxDepth: 512, PostList: 1, Inline: -1, AtomicType: FetchAndAdd, Timeout: 14, Retries: 7,
		GIDIndex: -1, Patience: 60 * time.Second}
	switch {
	case t.Kind == Latency:
		c.Size, c.TxDepth = 2, 1
	case t.Verb == Write:
		c.Iterations = 5000
	}
	if t.Verb == Atomic {
		c.Size = atomicSize
	}
	return c
}

// complete derives what depends on other values, as perftest does, and is called once everything
// is set.
func (c *Config) complete() {
	if c.AllSizes {
		c.Size = largestOfAll
	}
	if c.Duration > 0 {
		c.NoPeak = true
		if c.Margin < 0 {
			c.Margin = c.Duration / 4
		}
	} else {
		c.TxDepth = min(c.TxDepth, c.Iterations)
		c.RxDepth = min(c.RxDepth, c.Iterations)
	}
	if c.CQMod == 0 {
		switch {
		case c.PostList > 1:
			c.CQMod = c.PostList
		case c.Size > largeMessage && !c.AllSizes, c.Test.Kind == Latency:
			c.CQMod = 1
		default:
			c.CQMod = 100
		}
	}
	c.CQMod = min(c.CQMod, c.TxDepth)
	if c.Iterations*c.QPs > peakIterations {
		c.NoPeak = true
	}
}

// Validate says everything that is wrong with c.
func (c *Config) Validate() error {
	var errs []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	between := func(what string, v, low, high int) {
		require(v >= low && v <= high, "%s is %d: it must be between %d and %d", what, v, low, high)
	}
	between("size", c.Size, 1, maxSize)
	between("iters", c.Iterations, minIterations, maxIterations)
	between("qp", c.QPs, 1, maxQPs)
	between("tx-depth", c.TxDepth, 1, maxDepth)
	between("rx-depth", c.RxDepth, 1, maxReceive)
	between("post_list", c.PostList, 1, c.TxDepth)
	between("inline_size", c.Inline, -1, maxInline)
	between("cq-mod", c.CQMod, 0, maxCQMod)
	between("outs", c.Outstanding, 0, 255)
	between("qp-timeout", int(c.Timeout), 0, 31)
	between("retry_count", int(c.Retries), 0, 7)
	between("sl", int(c.ServiceLevel), 0, 7)
	bw := c.Test.Kind == Bandwidth
	_, known := mtuCodes[c.MTU]
	require(c.MTU == 0 || known, "mtu is %d: it must be 256, 512, 1024, 2048 or 4096", c.MTU)
	require(c.Test.Verb != Atomic || c.Size == atomicSize && !c.AllSizes,
		"an atomic operation is on %d bytes: size and all do not apply", atomicSize)
	require(bw || !c.Bidirectional, "bidirectional is for bandwidth tests")
	require(bw || c.QPs == 1, "a latency test has one QP")
	require(bw || c.PostList == 1, "post_list is for bandwidth tests")
	require(c.Duration == 0 || !c.AllSizes, "duration and all exclude each other")
	require(c.Duration == 0 || c.Duration > 2*c.Margin, "duration must be above twice the margin")
	require(c.Duration > 0 || c.Iterations%c.PostList == 0,
		"iters is %d: it must be a multiple of post_list, %d", c.Iterations, c.PostList)
	require(c.PostList == 1 || c.CQMod == 0 || c.PostList%c.CQMod == 0,
		"post_list is %d: it must be a multiple of cq-mod, %d", c.PostList, c.CQMod)
	require(!c.CM || !c.CMData, "rdma_cm and com_rdma_cm exclude each other")
	require(c.AtomicType == FetchAndAdd || c.AtomicType == CmpAndSwap,
		"atomic_type is %q: it must be %s or %s", c.AtomicType, FetchAndAdd, CmpAndSwap)
	ok := map[Output]bool{OutputAll: true, OutputBandwidth: bw, OutputRate: bw, OutputLatency: !bw}
	require(ok[c.Output], "output %q does not fit a %v test: bandwidth and message_rate are for "+
		"bandwidth tests, latency is for latency tests", c.Output, c.Test)
	return errors.Join(errs...)
}

// sizes are the sizes of messages to measure, one after the other.
func (c *Config) sizes() []int {
	if !c.AllSizes {
		return []int{c.Size}
	}
	var all []int
	for size := 2; size <= largestOfAll; size *= 2 {
		all = append(all, size)
	}
	return all
}

// client says on which side of the exchange we are.
func (c *Config) client() bool { return c.Server != "" }

// outReads is what is announced as the number of READs and atomics that we take at a time: 1 is
// perftest's value for tests that use none.
func (c *Config) outReads(device int) int {
	if c.Test.Verb != Read && c.Test.Verb != Atomic {
		return 1
	}
	if c.Outstanding > 0 {
		return min(c.Outstanding, device)
	}
	return min(device, maxOutstanding)
}

// maxOutstanding is what rxe can: perftest fails if we announce more than its device has.
const maxOutstanding = 128
