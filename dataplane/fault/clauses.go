package fault

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/roce/ib"
)

// clause is a word of the text with a value behind it. read sets it in a rule; print is the value
// as text, empty if the rule does not have it.
type clause struct {
	word  string
	want  string // what a value looks like
	read  func(r *link.Rule, value string) error
	print func(r *link.Rule) string
}

// clauses in the order in which they are printed.
var clauses = []clause{
	{"by", "a time as 5us, or a number of frames", readBy, printBy},
	{"within", "a time, as 100us",
		func(r *link.Rule, v string) (err error) { r.Within, err = duration(v); return err },
		func(r *link.Rule) string { return printDuration(r.Within) }},
	{"jitter", "a time, as 2us",
		func(r *link.Rule, v string) (err error) { r.Jitter, err = duration(v); return err },
		func(r *link.Rule) string { return printDuration(r.Jitter) }},
	{"byte", "an offset into the frame", readByte, printByte},
	{"mask", "the bits to flip in the byte, 0x01 to 0xff", readMask, printMask},
	{"ipid", "bits of an IP ID, as 0xff for its low byte or 0x1234/0xffff", readIPID, printIPID},
	{"kind", "kinds of frames, as pfc or roce4,roce6", readKinds, printKinds},
	{"dscp", "codepoints 0 to 63, as 26 or 26,48", readDSCP, printDSCP},
	{"qp", "a destination QP, as 0x11", readQP, printQP},
	{"psn", "a PSN as 100, or a range as 100-200", readPSN, printPSN},
	{"op", "what packets do, as write or ack,cnp", readVerbs, printVerbs},
	{"nth", "a number from 1", counter(func(r *link.Rule) *uint64 { return &r.Nth }),
		printCounter(func(r *link.Rule) *uint64 { return &r.Nth })},
	{"every", "a number from 1", counter(func(r *link.Rule) *uint64 { return &r.Every }),
		printCounter(func(r *link.Rule) *uint64 { return &r.Every })},
	{"limit", "a number from 1", counter(func(r *link.Rule) *uint64 { return &r.Limit }),
		printCounter(func(r *link.Rule) *uint64 { return &r.Limit })},
	{"seed", "a number from 1", counter(func(r *link.Rule) *uint64 { return &r.Seed }),
		printCounter(func(r *link.Rule) *uint64 { return &r.Seed })},
}

func counter(of func(*link.Rule) *uint64) func(*link.Rule, string) error {
	return func(r *link.Rule, v string) error {
		n, err := strconv.ParseUint(v, 0, 64)
		if err != nil || n == 0 {
			return errValue
		}
		*of(r) = n
		return nil
	}
}

func printCounter(of func(*link.Rule) *uint64) func(*link.Rule) string {
	return func(r *link.Rule) string {
		if n := *of(r); n != 0 {
			return strconv.FormatUint(n, 10)
		}
		return ""
	}
}

// errValue says that a value is not what its clause wants; the clause says what it does want.
var errValue = errors.New("not that")

func duration(v string) (time.Duration, error) {
	d, err := time.ParseDuration(v)
	if err != nil || d <= 0 {
		return 0, errValue
	}
	return d, nil
}

func printDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return strings.Replace(d.String(), "µ", "u", 1)
}

// longestHold is for how long a frame waits for others to pass if nobody says: more than the 839 us
// of the longest pause at 40 Gb/s, so that the frames behind it may be paused.
const longestHold = time.Millisecond

func readBy(r *link.Rule, v string) (err error) {
	if n, e := strconv.ParseUint(v, 10, 31); e == nil && n > 0 {
		r.Behind = int(n)
		if r.Within == 0 {
			r.Within = longestHold
		}
		return nil
	}
	r.By, err = duration(v)
	return err
}

func printBy(r *link.Rule) string {
	if r.Behind != 0 {
		return strconv.Itoa(r.Behind) + " frames"
	}
	if r.Effect == link.Delay {
		return "" // stands behind the verb
	}
	return printDuration(r.By)
}

func readByte(r *link.Rule, v string) error {
	n, err := strconv.ParseUint(v, 0, 16)
	if err != nil {
		return errValue
	}
	r.Flip.Fixed, r.Flip.Byte = true, uint16(n)
	return nil
}

func printByte(r *link.Rule) string {
	if !r.Flip.Fixed {
		return ""
	}
	return strconv.Itoa(int(r.Flip.Byte))
}

func readMask(r *link.Rule, v string) error {
	n, err := strconv.ParseUint(v, 0, 8)
	if err != nil || n == 0 {
		return errValue
	}
	r.Flip.Mask = uint8(n)
	return nil
}

func printMask(r *link.Rule) string {
	if r.Flip.Mask == 0 {
		return ""
	}
	return fmt.Sprintf("0x%02x", r.Flip.Mask)
}

func readIPID(r *link.Rule, v string) error {
	value, mask, masked := strings.Cut(v, "/")
	if !masked {
		mask = "0xff"
	}
	n, err := strconv.ParseUint(value, 0, 16)
	m, errMask := strconv.ParseUint(mask, 0, 16)
	if err != nil || errMask != nil || m == 0 || n&^m != 0 {
		return errValue
	}
	r.Match.IPID = link.Masked{Value: uint16(n), Mask: uint16(m)}
	return nil
}

func printIPID(r *link.Rule) string {
	switch id := r.Match.IPID; id.Mask {
	case 0:
		return ""
	case 0xff:
		return fmt.Sprintf("0x%02x", id.Value)
	default:
		return fmt.Sprintf("0x%04x/0x%04x", id.Value, id.Mask)
	}
}

func readDSCP(r *link.Rule, v string) error {
	for part := range strings.SplitSeq(v, ",") {
		n, err := strconv.ParseUint(part, 0, 8)
		if err != nil || n > 63 {
			return errValue
		}
		r.Match.DSCP |= 1 << n
	}
	return nil
}

func printDSCP(r *link.Rule) string {
	var parts []string
	for set := r.Match.DSCP; set != 0; set &= set - 1 {
		parts = append(parts, strconv.Itoa(bits.TrailingZeros64(set)))
	}
	return strings.Join(parts, ",")
}

func readQP(r *link.Rule, v string) error {
	n, err := strconv.ParseUint(v, 0, 24)
	if err != nil || n == 0 {
		return errValue
	}
	r.Match.QP = ib.QPN(n)
	return nil
}

func printQP(r *link.Rule) string {
	if r.Match.QP == 0 {
		return ""
	}
	return fmt.Sprintf("0x%x", uint32(r.Match.QP))
}

// readPSN takes a range across the wrap as well: 0xffffff-1 is three PSNs.
func readPSN(r *link.Rule, v string) error {
	from, to, isRange := strings.Cut(v, "-")
	if !isRange {
		to = from
	}
	a, err := strconv.ParseUint(from, 0, 24)
	b, errTo := strconv.ParseUint(to, 0, 24)
	if err != nil || errTo != nil {
		return errValue
	}
	r.Match.PSN = link.PSNs{First: ib.PSN(a), Count: uint32(ib.MakePSN(uint32(b-a))) + 1}
	return nil
}

func printPSN(r *link.Rule) string {
	p := r.Match.PSN
	switch p.Count {
	case 0:
		return ""
	case 1:
		return strconv.Itoa(int(p.First))
	}
	return fmt.Sprintf("%d-%d", p.First, p.First.Add(int(p.Count)-1))
}

// verbNames are what packets do, in the words of verbs applications and of the specification.
var verbNames = []struct {
	name string
	verb ib.Verb
}{{"send", ib.Send}, {"write", ib.Write}, {"read", ib.Read}, {"response", ib.ReadReply},
	{"ack", ib.Ack}, {"atomic", ib.Atomic}, {"atomic-ack", ib.AtomicReply}, {"cnp", ib.Notify}}

func readVerbs(r *link.Rule, v string) error {
	return names(v, func(name string) bool {
		for _, n := range verbNames {
			if n.name == name {
				r.Match.Verbs |= 1 << n.verb
				return true
			}
		}
		return false
	})
}

func printVerbs(r *link.Rule) string {
	var parts []string
	for _, n := range verbNames {
		if r.Match.Verbs&(1<<n.verb) != 0 {
			parts = append(parts, n.name)
		}
	}
	return strings.Join(parts, ",")
}

// lastKind is the last of frame's kinds.
const lastKind = frame.CNM

func readKinds(r *link.Rule, v string) error {
	return names(v, func(name string) bool {
		for k := frame.Malformed; k <= lastKind; k++ {
			if k.String() == name {
				r.Match.Kinds |= 1 << k
				return true
			}
		}
		return false
	})
}

func printKinds(r *link.Rule) string {
	var parts []string
	for k := frame.Malformed; k <= lastKind; k++ {
		if r.Match.Kinds&(1<<k) != 0 {
			parts = append(parts, k.String())
		}
	}
	return strings.Join(parts, ",")
}

func names(list string, add func(string) bool) error {
	for name := range strings.SplitSeq(list, ",") {
		if !add(name) {
			return errValue
		}
	}
	return nil
}
