package unit

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is an amount of data in bytes.
type Bytes int64

// Powers of ten, as the papers and switch data sheets use them.
const (
	KB Bytes = 1e3
	MB Bytes = 1e6
)

var byteUnits = []struct {
	name  string
	scale float64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9}, {"b", 1}, {"", 1},
}

// ParseBytes reads "200KB", "12MB", "9KiB" or a plain number of bytes.
func ParseBytes(s string) (Bytes, error) {
	text := strings.ToLower(strings.TrimSpace(s))
	for _, u := range byteUnits {
		if num, ok := strings.CutSuffix(text, u.name); ok {
			v, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
			if err != nil || v < 0 || v*u.scale >= math.MaxInt64 || v != v {
				break
			}
			return Bytes(math.Round(v * u.scale)), nil
		}
	}
	return 0, fmt.Errorf("size %q: want a number of bytes, or with KB, MB, KiB, MiB", s)
}

// String prints the size in decimal units without losing a byte.
func (n Bytes) String() string {
	switch {
	case n != 0 && n%MB == 0:
		return strconv.FormatInt(int64(n/MB), 10) + "MB"
	case n != 0 && n%KB == 0:
		return strconv.FormatInt(int64(n/KB), 10) + "KB"
	}
	return strconv.FormatInt(int64(n), 10)
}

// UnmarshalText makes Bytes readable from configuration files.
func (n *Bytes) UnmarshalText(b []byte) (err error) { *n, err = ParseBytes(string(b)); return err }

// MarshalText is the inverse of UnmarshalText.
func (n Bytes) MarshalText() ([]byte, error) { return []byte(n.String()), nil }
