package perftest

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// spoken is a message of a captured exchange.
type spoken struct {
	client bool
	bytes  []byte
}

// transcript reads what two perftest 4.5 programs said to each other: the payload of the TCP
// segments, or of the SENDs on the control QP, of a capture between two Linux machines.
func transcript(t testing.TB, name string) (all []spoken) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		who, text, _ := strings.Cut(s.Text(), " ")
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, spoken{who == "client", b})
	}
	return all
}

var overTCP = []string{"ib_send_bw.txt", "ib_write_bw.txt", "ib_read_bw.txt", "ib_atomic_bw.txt"}

// Every message of real programs that is keys is read, and written again to the same bytes.
func TestKeysOfRealPrograms(t *testing.T) {
	seen := 0
	for _, name := range overTCP {
		for _, m := range transcript(t, name) {
			if len(m.bytes) != keysTextLen {
				continue
			}
			seen++
			k, err := ParseKeys(m.bytes)
			if err != nil {
				t.Fatal(err)
			}
			if got := k.AppendText(nil); !bytes.Equal(got, m.bytes) {
				t.Fatalf("%s: read %q, wrote %q", name, m.bytes, got)
			}
			want := netip.MustParseAddr("10.9.0.1")
			if m.client {
				want = want.Next()
			}
			if k.GID != want || k.QPN == 0 {
				t.Fatalf("%s: keys of %v on QP %v, want %v", name, k.GID, k.QPN, want)
			}
		}
	}
	if want := 10 + 3*10; seen != want {
		t.Fatalf("%d messages were keys, want %d", seen, want)
	}
}

// Over a QP the keys are a C structure. Its hole holds what the sender's memory held.
func TestBinaryKeysOfRealPrograms(t *testing.T) {
	var last Keys
	for _, m := range transcript(t, "ib_send_bw_R.txt") {
		if len(m.bytes) != keysBinaryLen {
			continue
		}
		k, err := ParseBinaryKeys(m.bytes)
		if err != nil {
			t.Fatal(err)
		}
		want := bytes.Clone(m.bytes)
		clear(want[20:24])
		if got := k.AppendBinary(nil); !bytes.Equal(got, want) {
			t.Fatalf("read %x, wrote %x", want, got)
		}
		last = k
	}
	if last.GID != netip.MustParseAddr("10.9.0.1") || last.QPN != 0x12 || last.GIDIndex != 1 ||
		last.OutReads != 1 {
		t.Fatalf("the server's last keys: %+v", last)
	}
}

// The client of the captured ib_write_bw reported what it measured; the server sent junk.
func TestSummaryOfRealProgram(t *testing.T) {
	var m [5][reportLen]byte
	n := 0
	for _, s := range transcript(t, "ib_write_bw.txt") {
		if s.client && len(s.bytes) == reportLen {
			copy(m[n][:], s.bytes)
			n++
		}
	}
	got := parseSummary(m)
	if n != 5 || got.size != 4096 || got.iterations != 20 ||
		math.Abs(got.average*(1<<20)-got.rate*1e6*4096) > 1 || got.peak < got.average {
		t.Fatalf("%d messages: %+v", n, got)
	}
	if again := got.fields(); again != m {
		t.Fatalf("written again: %x, want %x", again, m)
	}
}

func TestVersion(t *testing.T) {
	for text, ok := range map[string]bool{"6.06": true, "5.70": true, "5.69": false, "6": true,
		"": false, "HTTP/1.1 400": false, "NaN": false, "6.06\x00x": true} {
		_, err := parseVersion(appendVersion(nil, text))
		if (err == nil) != ok {
			t.Errorf("version %q: %v", text, err)
		}
	}
}

func TestMTU(t *testing.T) {
	for _, c := range []struct {
		own  int
		peer string
		want int
	}{{1024, "3\x00", 1024}, {4096, "1\x00", 256}, {256, "5\x00", 256}, {1024, "9\x00", 1024},
		{2048, "33", 2048}} {
		if got := agreeMTU(c.own, []byte(c.peer)); got != c.want {
			t.Errorf("ours %d, peer %q: %d, want %d", c.own, c.peer, got, c.want)
		}
	}
	if got := appendMTU(nil, 1024); string(got) != "3\x00" {
		t.Errorf("1024 is written %q", got)
	}
}

func FuzzParseKeys(f *testing.F) {
	for _, name := range overTCP {
		for _, m := range transcript(f, name) {
			f.Add(m.bytes)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := ParseKeys(b)
		if err != nil {
			return
		}
		again, err := ParseKeys(k.AppendText(nil))
		if err != nil || again != k {
			t.Fatalf("%q is %+v, written and read again %+v, %v", b, k, again, err)
		}
	})
}

func FuzzParseBinaryKeys(f *testing.F) {
	for _, m := range transcript(f, "ib_send_bw_R.txt") {
		f.Add(m.bytes)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := ParseBinaryKeys(b)
		if err != nil {
			return
		}
		again, err := ParseBinaryKeys(k.AppendBinary(nil))
		if err != nil || again != k {
			t.Fatalf("%x is %+v, written and read again %+v, %v", b, k, again, err)
		}
	})
}

// A peer may answer anything at any step; greet returns or refuses.
func FuzzGreet(f *testing.F) {
	for _, name := range append([]string{"ib_send_bw_R.txt"}, overTCP...) {
		var all []byte
		for _, m := range transcript(f, name) {
			if m.client {
				all = append(all, m.bytes...)
			}
		}
		f.Add(all)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := greet(&script{in: b}, 1024)
		if err == nil && (g.mtu > 1024 || g.mtu < 256 || g.cycle < ownCycle || g.cycle > maxCycle ||
			g.cacheLine < ownCacheLine) {
			t.Fatalf("%+v", g)
		}
	})
}
