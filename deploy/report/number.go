package report

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// none stands where a run has no such value.
const none = "-"

// step is a unit and the size from which on it is used.
type step struct {
	from, size float64
	name       string
}

// scale is the units of a quantity, largest first.
type scale []step

var (
	bitRates = scale{{1e9, 1e9, "Gb/s"}, {1e6, 1e6, "Mb/s"}, {1e3, 1e3, "kb/s"}, {0, 1, "b/s"}}
	// Queues are compared in KB up to where five digits would be needed.
	sizes  = scale{{1e7, 1e6, "MB"}, {1e3, 1e3, "KB"}, {0, 1, "B"}}
	times  = scale{{1e9, 1e9, "s"}, {1e6, 1e6, "ms"}, {1e3, 1e3, "us"}, {0, 1, "ns"}}
	shares = scale{{0, 0.01, "%"}}
	counts = scale{{0, 1, ""}}
)

// fit picks the unit for the largest of the values.
func (s scale) fit(largest float64) step {
	for _, u := range s {
		if largest >= u.from {
			return u
		}
	}
	return s[len(s)-1]
}

// texts prints values with one unit and one number of decimals, so that they compare by eye.
// NaN stands for a value that is not there.
func (s scale) texts(values []float64) []string {
	largest := 0.0
	for _, v := range values {
		if known(v) {
			largest = max(largest, math.Abs(v))
		}
	}
	u := s.fit(largest)
	decimals := decimalsFor(largest / u.size)
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = none
		if known(v) {
			out[i] = withUnit(strconv.FormatFloat(v/u.size, 'f', decimals, 64), u.name)
		}
	}
	return out
}

func decimalsFor(largest float64) int {
	switch {
	case largest >= 1000, largest == 0:
		return 0
	case largest >= 100:
		return 1
	}
	return 2
}

func known(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

func withUnit(number, unit string) string {
	if unit == "" {
		return number
	}
	return number + " " + unit
}

// countText prints a number with its thousands apart.
func countText(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// fixed prints with the given decimals, or as absent.
func fixed(v float64, decimals int) string {
	if !known(v) {
		return none
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

func percent(share float64) string {
	if !known(share) {
		return none
	}
	return fixed(100*share, 1) + " %"
}

// short prints one value in its own unit without trailing zeros: "40 Gb/s", "1.5 us", "1 MB".
func (s scale) short(v float64) string {
	if !known(v) {
		return none
	}
	u := s[len(s)-1]
	for _, larger := range s {
		if math.Abs(v) >= larger.size {
			u = larger
			break
		}
	}
	return withUnit(trimZeros(strconv.FormatFloat(v/u.size, 'f', 3, 64)), u.name)
}

func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimRight(strings.TrimRight(s, "0"), ".")
}

// dayTime prints an RFC 3339 time for a reader, or what else is there as it is.
func dayTime(s string) string {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return s
	}
	return t.Format("2006-01-02 15:04:05 MST")
}
