package sonic

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// TestAlphaText: SONiC's exponent, and the fraction that it lacks.
func TestAlphaText(t *testing.T) {
	for text, want := range map[string]Alpha{"0": {1, 1}, "3": {8, 1}, "-4": {1, 16},
		"1/16": {1, 16}, "6/16": {3, 8}, "2/1": {2, 1}} {
		if got, err := ParseAlpha(text); err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "11", "-11", "0/3", "1/0", "-1/2", "a", "1/b", "2000000/1"} {
		if got, err := ParseAlpha(text); err == nil {
			t.Errorf("%q is %+v, want an error", text, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		a := drawAlpha(t)
		if got, err := ParseAlpha(a.String()); err != nil || got != a {
			t.Fatalf("%+v prints as %v, reads as %+v, %v", a, a, got, err)
		}
	})
}

func drawAlpha(t *rapid.T) Alpha {
	return Alpha{rapid.Int64Range(1, 64).Draw(t, "num"),
		rapid.Int64Range(1, 64).Draw(t, "den")}.reduced()
}

// TestUnits: plain numbers are SONiC's units, others say theirs.
func TestUnits(t *testing.T) {
	for text, want := range map[string]unit.Rate{"1250000000": 10e9, "10Gb/s": 10e9, "0": 0} {
		if got, err := parseRate(text); err != nil || got != want {
			t.Errorf("rate %q is %v, %v; want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]time.Duration{"200": 200 * time.Millisecond,
		"50us": 50 * time.Microsecond} {
		if got, err := parseMillis(text); err != nil || got != want {
			t.Errorf("time %q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"-1", "x", "99999999999999999999"} {
		if got, err := parseMillis(text); err == nil {
			t.Errorf("time %q is %v, want an error", text, got)
		}
		if got, err := parseRate(text); err == nil {
			t.Errorf("rate %q is %v, want an error", text, got)
		}
	}
	if n, err := parseMetres("300m"); err != nil || n != 300 {
		t.Errorf("300m is %d, %v", n, err)
	}
}

// TestReferences: both forms of naming a row, and what is neither.
func TestReferences(t *testing.T) {
	for _, text := range []string{"AZURE", "[TC_TO_QUEUE_MAP|AZURE]"} {
		if got, err := reference(text, "TC_TO_QUEUE_MAP"); err != nil || got != "AZURE" {
			t.Errorf("%q is %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"[DSCP_TO_TC_MAP|AZURE]", "[AZURE]", "[TC_TO_QUEUE_MAP|AZURE",
		"[TC_TO_QUEUE_MAP|]"} {
		if got, err := reference(text, "TC_TO_QUEUE_MAP"); err == nil {
			t.Errorf("%q is %q, want an error", text, got)
		}
	}
}
