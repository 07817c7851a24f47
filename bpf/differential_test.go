package bpf

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// seedEnv replays a differential test with the seed that a failure printed.
const seedEnv = "ROCELAB_SEED"

// seed returns the seed of this run and logs how to have it again.
func seed(t *testing.T) uint64 {
	t.Helper()
	s := uint64(time.Now().UnixNano())
	if text := os.Getenv(seedEnv); text != "" {
		v, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", seedEnv, err)
		}
		s = v
	}
	t.Logf("replay: %s=%d go test -run %s", seedEnv, s, t.Name())
	return s
}

// TestDifferential holds program and Go classifier equal on frames made at random from good ones:
// bytes changed, mostly in the headers, cut, or padded. The watchdog's verdict changes on the way.
func TestDifferential(t *testing.T) {
	const frames = 20000
	rng := rand.New(rand.NewPCG(seed(t), 0))
	m := testMap(classify.TrustDSCP)
	told := frame.AllKinds.Without(frame.Other, frame.IPv4, frame.IPv6)
	p := loadedAs(t, LoadSwitch, PortConfig{Map: m, Told: told})
	seen := map[string]int{}
	var verdict uint8
	var filtered, recorded dataplane.Count
	for i := range frames {
		if i == frames/2 {
			m.Trust = classify.TrustPCP
			if err := p.SetMap(m); err != nil {
				t.Fatal(err)
			}
		}
		if i%16 == 0 {
			verdict = uint8(rng.Uint32() & rng.Uint32())
			if err := p.SetWatchdog(verdict); err != nil {
				t.Fatal(err)
			}
		}
		b := mutated(rng)
		class := judge(t, p, &m, verdict, b)
		seen[class.Kind.String()]++
		if filters(verdict, class) {
			n := &filtered
			if told.Has(class.Kind) {
				n = &recorded
			}
			n.Add(unit.Bytes(len(b)))
		}
	}
	if len(seen) < 10 {
		t.Errorf("only %v came up", seen)
	}
	var got dataplane.Count
	for tc := range uint8(classify.Classes) {
		n := p.Filtered(tc)
		got.Frames, got.Bytes = got.Frames+n.Frames, got.Bytes+n.Bytes
	}
	if got != filtered || got.Frames == 0 {
		t.Errorf("filtered %+v, want %+v", got, filtered)
	}
	if recorded.Frames == 0 {
		t.Error("no frame was recorded")
	}
}

// mutated returns a good frame with up to four faults in it.
func mutated(rng *rand.Rand) []byte {
	b := append([]byte(nil), kinds[rng.IntN(len(kinds))].frame...)
	for range rng.IntN(5) {
		at := rng.IntN(min(len(b), 60))
		switch rng.IntN(4) {
		case 0:
			b[at] = byte(rng.Uint32())
		case 1:
			b[at] ^= 1 << rng.IntN(8)
		case 2:
			b[at] += byte(rng.IntN(3) - 1)
		default:
			b = resized(rng, b)
		}
	}
	return b
}

func resized(rng *rand.Rand, b []byte) []byte {
	n := minRun + rng.IntN(len(b))
	for len(b) < n {
		b = append(b, byte(rng.Uint32()))
	}
	return b[:n]
}
