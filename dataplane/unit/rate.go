package unit

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Rate is a data rate in bits per second. Zero means nothing may be sent.
type Rate int64

// The usual steps of link rates.
const (
	BitPerSecond Rate = 1
	KbPerSecond  Rate = 1e3
	MbPerSecond  Rate = 1e6
	GbPerSecond  Rate = 1e9
)

var rateUnits = []struct {
	name  string
	scale Rate
}{
	{"gb/s", GbPerSecond}, {"gbps", GbPerSecond}, {"gbit", GbPerSecond}, {"g", GbPerSecond},
	{"mb/s", MbPerSecond}, {"mbps", MbPerSecond}, {"mbit", MbPerSecond}, {"m", MbPerSecond},
	{"kb/s", KbPerSecond}, {"kbps", KbPerSecond}, {"kbit", KbPerSecond}, {"k", KbPerSecond},
	{"b/s", BitPerSecond}, {"bps", BitPerSecond}, {"bit", BitPerSecond},
}

// ParseRate reads "40Gb/s", "40G", "2.5Gbps", "100 Mb/s", "9b/s" or "0". Any other number without a
// unit is refused: who writes 40 means 40 Gb/s, and gets no link of 40 bits a second.
func ParseRate(s string) (Rate, error) {
	text := strings.ToLower(strings.TrimSpace(s))
	for _, u := range rateUnits {
		if num, ok := strings.CutSuffix(text, u.name); ok {
			if v, ok := perSecond(strings.TrimSpace(num), u.scale); ok {
				return Rate(math.Round(v)), nil
			}
			break
		}
	}
	v, plain := perSecond(text, BitPerSecond)
	switch {
	case !plain:
		return 0, fmt.Errorf("rate %q: want a number with Gb/s, Mb/s, kb/s or b/s", s)
	case v == 0:
		return 0, nil
	case v < float64(KbPerSecond):
		return 0, fmt.Errorf("rate %q: want a unit, as %sGb/s", s, text)
	}
	return 0, fmt.Errorf("rate %q: want a unit, as %v", s, Rate(v))
}

// perSecond is a number of bits per second, if it is one that a Rate can have.
func perSecond(number string, scale Rate) (v float64, ok bool) {
	v, err := strconv.ParseFloat(number, 64)
	v *= float64(scale)
	return v, err == nil && v >= 0 && v < math.MaxInt64
}

// String prints the rate in the largest unit that keeps it at or above one, with six digits.
func (r Rate) String() string {
	for _, u := range []struct {
		scale Rate
		name  string
	}{{GbPerSecond, "Gb/s"}, {MbPerSecond, "Mb/s"}, {KbPerSecond, "kb/s"}} {
		if r >= u.scale {
			return strconv.FormatFloat(float64(r)/float64(u.scale), 'g', 6, 64) + u.name
		}
	}
	return strconv.FormatInt(int64(r), 10) + "b/s"
}

// UnmarshalText makes Rate readable from configuration files.
func (r *Rate) UnmarshalText(b []byte) (err error) { *r, err = ParseRate(string(b)); return err }

// MarshalText is the inverse of UnmarshalText: as String, unless that loses a bit of it.
func (r Rate) MarshalText() ([]byte, error) {
	text := r.String()
	if back, err := ParseRate(text); err != nil || back != r {
		text = strconv.FormatInt(int64(r), 10) + "b/s"
	}
	return []byte(text), nil
}

// BytesIn returns how many whole bytes r carries in d; d must not be negative.
func (r Rate) BytesIn(d time.Duration) Bytes {
	hi, lo := bits.Mul64(uint64(r), uint64(d))
	q, _ := bits.Div64(hi, lo, 8e9) // bits*ns / (8 bits * 1e9 ns)
	return Bytes(q)
}

// Over returns the rate that carries n bytes in d; d must be positive.
func (n Bytes) Over(d time.Duration) Rate {
	hi, lo := bits.Mul64(uint64(n), 8e9)
	q, _ := bits.Div64(hi, lo, uint64(d))
	return Rate(q)
}
