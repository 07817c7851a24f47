package sonic

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// The values of fields, read and written. Each reader accepts what SONiC writes, and where noted a
// form with a unit; each writer gives SONiC's form if there is one.

// Alpha is the factor of a dynamic limit: limit = Num/Den x what is free of the shared part.
type Alpha struct{ Num, Den int64 }

// maxExponent bounds 2^n, and maxPart the parts of a fraction.
const (
	maxExponent = 10
	maxPart     = 1 << 20
)

// ParseAlpha reads SONiC's exponent n, which stands for 2^n, or a fraction as 1/16.
func ParseAlpha(s string) (Alpha, error) {
	num, den, fraction := strings.Cut(strings.TrimSpace(s), "/")
	if !fraction {
		n, err := strconv.Atoi(num)
		if err != nil || n < -maxExponent || n > maxExponent {
			return Alpha{}, fmt.Errorf("%q: want n from -%d to %d (alpha = 2^n), or a fraction "+
				"as 1/16", s, maxExponent, maxExponent)
		}
		return Alpha{1 << max(n, 0), 1 << max(-n, 0)}, nil
	}
	a, errA := strconv.ParseInt(strings.TrimSpace(num), 10, 64)
	b, errB := strconv.ParseInt(strings.TrimSpace(den), 10, 64)
	if errA != nil || errB != nil || a < 1 || b < 1 || a > maxPart || b > maxPart {
		return Alpha{}, fmt.Errorf("%q: want a fraction of whole numbers from 1 to %d, as 1/16", s,
			maxPart)
	}
	return Alpha{a, b}.reduced(), nil
}

func (a Alpha) reduced() Alpha {
	x, y := a.Num, a.Den
	for y != 0 {
		x, y = y, x%y
	}
	return Alpha{a.Num / x, a.Den / x}
}

// Exponent is n if alpha is 2^n with an n that SONiC takes.
func (a Alpha) Exponent() (n int, ok bool) {
	for n = -maxExponent; n <= maxExponent; n++ {
		if (Alpha{1 << max(n, 0), 1 << max(-n, 0)}) == a {
			return n, true
		}
	}
	return 0, false
}

// String is the form that ParseAlpha reads: an exponent where there is one.
func (a Alpha) String() string {
	if n, ok := a.Exponent(); ok {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d/%d", a.Num, a.Den)
}

// UnmarshalText makes Alpha readable from configuration files.
func (a *Alpha) UnmarshalText(b []byte) (err error) { *a, err = ParseAlpha(string(b)); return err }

// MarshalText is the inverse of UnmarshalText.
func (a Alpha) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// parseNumber reads a whole number from low to high.
func parseNumber(s string, low, high int) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%q: want %d to %d", s, low, high)
	}
	return n, nil
}

// parsePercent reads 0 to 100; SONiC's are whole.
func parsePercent(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(v >= 0 && v <= 100) {
		return 0, fmt.Errorf("%q: want 0 to 100 percent", s)
	}
	return v, nil
}

func formatFloat(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// parsePriorities reads "3,4"; the empty text is none.
func parsePriorities(s string) (list Priorities, err error) {
	for _, part := range split(s) {
		n, err := parseNumber(part, 0, Indices-1)
		if err != nil {
			return nil, err
		}
		list = append(list, uint8(n))
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// String is SONiC's form, "3,4".
func (p Priorities) String() string {
	parts := make([]string, len(p))
	for i, v := range p {
		parts[i] = strconv.Itoa(int(v))
	}
	return strings.Join(parts, ",")
}

// Has reports whether a priority is in the list.
func (p Priorities) Has(v uint8) bool { return slices.Contains(p, v) }

func split(s string) (parts []string) {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// maxRate keeps bits per second within 63 bits.
const maxRate = math.MaxInt64 / 8

// parseRate reads SONiC's bytes per second, or a rate with a unit as 10Gb/s.
func parseRate(s string) (unit.Rate, error) {
	if n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64); err == nil {
		if n < 0 || n > maxRate {
			return 0, fmt.Errorf("%q: want bytes per second", s)
		}
		return unit.Rate(n * 8), nil
	}
	return unit.ParseRate(s)
}

// formatRate is bytes per second, or bits where they are no whole bytes.
func formatRate(r unit.Rate) string {
	if r%8 == 0 {
		return strconv.FormatInt(int64(r/8), 10)
	}
	return strconv.FormatInt(int64(r), 10) + "b/s"
}

// parseMillis reads SONiC's milliseconds, or a duration with a unit as 50us.
func parseMillis(s string) (time.Duration, error) {
	text := strings.TrimSpace(s)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		if n < 0 || n > math.MaxInt64/int64(time.Millisecond) {
			return 0, fmt.Errorf("%q: want milliseconds", s)
		}
		return time.Duration(n) * time.Millisecond, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q: want milliseconds, or a duration as 50us", s)
	}
	return d, nil
}

func formatMillis(d time.Duration) string {
	if d%time.Millisecond == 0 {
		return strconv.FormatInt(int64(d/time.Millisecond), 10)
	}
	return d.String()
}

// parseMetres reads a cable's length, "5m".
func parseMetres(s string) (int, error) {
	n, err := parseNumber(strings.TrimSuffix(strings.TrimSpace(s), "m"), 0, 1_000_000)
	if err != nil {
		return 0, fmt.Errorf("%q: want metres, as 5m", s)
	}
	return n, nil
}

// reference takes the old form [TABLE|NAME] off a name.
func reference(s, table string) (string, error) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "[") {
		return s, nil
	}
	inner, closed := strings.CutSuffix(s[1:], "]")
	of, name, ok := strings.Cut(inner, "|")
	if !closed || !ok || name == "" {
		return "", fmt.Errorf("reference %q: want a name, or [%s|name]", s, table)
	}
	if of != table {
		return "", fmt.Errorf("reference %q: want one to %s", s, table)
	}
	return name, nil
}

// oneOf accepts a word of a list.
func oneOf(s string, words ...string) (string, error) {
	if slices.Contains(words, s) {
		return s, nil
	}
	return "", fmt.Errorf("%q: want %s", s, strings.Join(words, ", "))
}
