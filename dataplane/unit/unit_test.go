package unit

import (
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSerialCarriesTheRemainder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := Rate(rapid.Int64Range(1, 1e12).Draw(t, "rate"))
		sizes := rapid.SliceOfN(rapid.Int64Range(0, 1<<16), 1, 200).Draw(t, "sizes")
		var s Serial
		var sum time.Duration
		var bytes int64
		for _, n := range sizes {
			sum += s.Time(Bytes(n), rate)
			bytes += n
		}
		exact := new(big.Int).Mul(big.NewInt(bytes), big.NewInt(8e9))
		exact.Div(exact, big.NewInt(int64(rate)))
		if exact.Int64() != int64(sum) {
			t.Fatalf(
				"%d frames of %d bytes at %v: sum %d ns, exact %v ns",
				len(sizes),
				bytes,
				rate,
				sum,
				exact,
			)
		}
	})
}

func TestTimeSaturates(t *testing.T) {
	for _, c := range []struct {
		t    Time
		d    time.Duration
		want Time
	}{{0, 5, 5}, {10, -4, 6}, {Never, -1, Never}, {Never - 1, 1, Never}, {Never - 1, 2, Never},
		{1, math.MaxInt64, Never}} {
		if got := c.t.Add(c.d); got != c.want {
			t.Errorf("%d + %d = %d, want %d", c.t, c.d, got, c.want)
		}
	}
	if Never.String() != "never" || Time(1500).String() != "1.5µs" {
		t.Errorf("printed as %v and %v", Never, Time(1500))
	}
}

func TestRateText(t *testing.T) {
	for text, want := range map[string]Rate{
		"40Gb/s": 40e9, "40G": 40e9, "2.5 Gbps": 25e8, "100mbit": 1e8,
		"56kb/s": 56e3, "9b/s": 9, "400 gb/s": 400e9, "0": 0, "0.0": 0, "0b/s": 0} {
		if got, err := ParseRate(text); err != nil || got != want {
			t.Errorf("ParseRate(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	const units = "want a number with Gb/s, Mb/s, kb/s or b/s"
	for text, want := range map[string]string{"": units, "fast": units, "-1G": units,
		"1e30G": units, "NaN": units, "40GB": units, "-1": units,
		"40": "want a unit, as 40Gb/s", "2.5": "want a unit, as 2.5Gb/s",
		"0.4": "want a unit, as 0.4Gb/s", "1000": "want a unit, as 1kb/s",
		"40000000000": "want a unit, as 40Gb/s"} {
		got, err := ParseRate(text)
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("ParseRate(%q) = %d, %v, want %s", text, got, err, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		r := Rate(rapid.Int64Range(0, 999999).Draw(t, "r")) * 1e6
		if got, err := ParseRate(r.String()); err != nil || got != r {
			t.Fatalf("%d prints as %v, reads as %d, %v", int64(r), r, int64(got), err)
		}
		odd := Rate(rapid.Int64Range(0, 1<<53).Draw(t, "odd")) // 9 Pb/s
		text, err := odd.MarshalText()
		var back Rate
		if err != nil || back.UnmarshalText(text) != nil || back != odd {
			t.Fatalf("%d is written as %s, read as %d, %v", int64(odd), text, int64(back), err)
		}
	})
}

func TestBytesText(t *testing.T) {
	for text, want := range map[string]Bytes{
		"200KB": 200e3, "12MB": 12e6, "4KiB": 4096, "22.4KB": 22400,
		"1500": 1500, "1 MiB": 1 << 20} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1", "some", "1e300MB"} {
		if got, err := ParseBytes(text); err == nil {
			t.Errorf("ParseBytes(%q) = %d, want an error", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		n := Bytes(rapid.Int64Range(0, 1<<50).Draw(t, "n"))
		if got, err := ParseBytes(n.String()); err != nil || got != n {
			t.Fatalf("%d prints as %v, reads as %d, %v", int64(n), n, int64(got), err)
		}
	})
}

func TestRatesAndBytes(t *testing.T) {
	if got := (40 * GbPerSecond).BytesIn(time.Microsecond); got != 5000 {
		t.Errorf("40 Gb/s carries %d bytes in 1 us, want 5000", got)
	}
	if got := Bytes(5000).Over(time.Microsecond); got != 40*GbPerSecond {
		t.Errorf("5000 bytes in 1 us are %v, want 40 Gb/s", got)
	}
}
