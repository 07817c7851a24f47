package perftest

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"
)

// Flags adds the options of test t to set and returns what they fill. Their names, short and long,
// are perftest's where they mean the same; those that mean nothing here are refused with a reason.
// The configuration is complete after Finish.
func Flags(set *pflag.FlagSet, t Test) *Config {
	c := Defaults(t)
	c.Margin = -1
	connectionFlags(set, &c)
	transportFlags(set, &c)
	reportFlags(set, &c)
	set.IntVarP(&c.Iterations, "iters", "n", c.Iterations, "`messages` a QP")
	set.VarP((*seconds)(&c.Duration), "duration", "D",
		"run for a `time`, in seconds or as 50ms, of the NIC's time, instead of -n")
	set.VarP((*seconds)(&c.Margin), "margin", "f",
		"`time` at both ends of the duration that is not measured; a quarter if not given")
	set.Lookup("margin").DefValue = ""
	set.IntVarP(&c.TxDepth, "tx-depth", "t", c.TxDepth, "send requests outstanding")
	if t.Verb != Atomic {
		set.IntVarP(&c.Size, "size", "s", c.Size, "`bytes` a message")
		set.BoolVarP(&c.AllSizes, "all", "a", false, "all sizes from 2 to 2^23 bytes")
	}
	switch t.Verb {
	case Send:
		set.IntVarP(&c.RxDepth, "rx-depth", "r", c.RxDepth, "receives posted")
		fallthrough
	case Write:
		set.IntVarP(&c.Inline, "inline_size", "I", c.Inline, "`bytes` up to which a message is "+
			"copied into its request; -1: as the NIC likes")
	case Atomic:
		set.StringVarP((*string)(&c.AtomicType), "atomic_type", "A", string(c.AtomicType),
			"`operation`: FETCH_AND_ADD or CMP_AND_SWAP")
		fallthrough
	case Read:
		set.IntVarP(&c.Outstanding, "outs", "o", 0, "outstanding READs or atomics; 0: the most "+
			"that both NICs can")
	}
	if t.Kind == Bandwidth {
		set.BoolVarP(&c.Bidirectional, "bidirectional", "b", false, "traffic both ways")
		set.IntVarP(&c.QPs, "qp", "q", c.QPs, "queue pairs")
		set.IntVarP(&c.PostList, "post_list", "l", c.PostList, "requests posted at a time")
		set.IntVarP(&c.CQMod, "cq-mod", "Q", 0, "messages a completion; 0: one above 8192 bytes, "+
			"else 100")
		set.BoolVarP(&c.NoPeak, "noPeak", "N", false, "do not search the peak")
		set.BoolVar(&c.WarmUp, "perform_warm_up", false, "send a queue full before measuring")
	}
	refuse(set)
	return &c
}

func connectionFlags(set *pflag.FlagSet, c *Config) {
	set.StringVarP(&c.NIC, "nic", "d", "", "the `NIC`: its name in a lab or the path of its "+
		"verbs socket")
	alias(set, "ib-dev", "nic")
	set.Uint16VarP(&c.Port, "port", "p", c.Port, "`port` to listen on or connect to")
	set.BoolVarP(&c.CM, "rdma_cm", "R", false, "connect the QPs by the connection manager")
	set.BoolVarP(&c.CMData, "com_rdma_cm", "z", false,
		"ordinary QPs, but exchange parameters over a QP of the connection manager")
	set.DurationVar(&c.Patience, "patience", c.Patience,
		"real `time` without progress after which to give up")
	set.VarP(only("1"), "ib-port", "i", "`port` of the NIC: it has one, 1")
	set.VarP(only("RC"), "connection", "c", "`type` of the QPs: RC")
}

func transportFlags(set *pflag.FlagSet, c *Config) {
	set.IntVarP(&c.MTU, "mtu", "m", 0, "path MTU in `bytes`, 256 to 4096; 0: the port's")
	set.Uint8VarP(&c.Timeout, "qp-timeout", "u", c.Timeout, "ack timeout: 4.096 us x 2^`n`")
	set.Uint8Var(&c.Retries, "retry_count", c.Retries, "retries")
	set.IntVarP(&c.GIDIndex, "gid-index", "x", c.GIDIndex,
		"`index` of the NIC's address to use; -1: the first")
	set.BoolVar(&c.IPv6, "ipv6", false, "use an IPv6 address")
	set.Uint8VarP(&c.ServiceLevel, "sl", "S", 0, "service `level`: DSCP = 8 x level")
	set.Uint8Var(&c.TrafficClass, "tclass", 0, "traffic class: DSCP x 4, and ECN's two low bits")
	set.Uint8VarP(&c.TrafficClass, "tos", "T", 0, "the same as tclass")
	set.BoolVar(&c.Check, "check", false, "fill messages with a pattern and compare what arrives; "+
		"for that both ends must be rocelab's")
}

func reportFlags(set *pflag.FlagSet, c *Config) {
	set.StringVar((*string)(&c.Output), "output", "",
		"print one number only: `what` is bandwidth, message_rate or latency")
	if c.Test.Kind == Bandwidth {
		set.BoolVar(&c.Gbits, "report_gbits", false, "report Gb/s (10^9) instead of MB/s (2^20)")
		set.BoolVar(&c.ReportBoth, "report-both", false, "report the directions of -b one by one")
		set.Float64VarP(&c.LimitBW, "limit_bw", "w", 0, "fail below this average bandwidth")
		set.Float64VarP(&c.LimitRate, "limit_msgrate", "y", 0, "fail below this rate in Mpps")
		return
	}
	set.BoolVarP(&c.Unsorted, "report-unsorted", "U", false, "print all latencies in order of time")
	set.BoolVarP(&c.Histogram, "report-histogram", "H", false, "print every latency, sorted")
}

// Finish ends what Flags began: args are those that are no options, a host or nothing.
func (c *Config) Finish(args []string) error {
	switch len(args) {
	case 0:
	case 1:
		c.Server = args[0]
	default:
		return fmt.Errorf("arguments %q: want one host to connect to, or none to be the server",
			args)
	}
	c.complete()
	return c.Validate()
}

// alias gives a flag a second long name.
func alias(set *pflag.FlagSet, name, of string) {
	f := set.Lookup(of)
	set.AddFlag(&pflag.Flag{Name: name, Usage: "the same as --" + of, Value: f.Value,
		DefValue: f.DefValue, NoOptDefVal: f.NoOptDefVal, Hidden: true})
}

// seconds is a duration that may be a bare number of seconds, as perftest has it.
type seconds time.Duration

func (s *seconds) String() string { return time.Duration(*s).String() }

func (s *seconds) Type() string { return "duration" }

func (s *seconds) Set(text string) error {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		*s = seconds(time.Duration(n) * time.Second)
		return nil
	}
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = fmt.Errorf("%v is negative", d)
	}
	*s = seconds(d)
	return err
}

// only is a flag that has one value here.
type only string

func (o only) String() string { return string(o) }

func (o only) Type() string { return "string" }

func (o only) Set(text string) error {
	if text != string(o) {
		return fmt.Errorf("only %s is possible here", string(o))
	}
	return nil
}
