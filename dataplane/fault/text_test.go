package fault

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

// texts are faults as people write them, as they are printed, and what they mean.
var texts = []struct {
	text, printed string
	want          Spec
}{
	{"loss 1e-3", "loss 0.001", Spec{Kind: Loss, Rule: link.Rule{Effect: link.Lose,
		Chance: 0.001}}},
	{"loss 0.1%", "loss 0.001", Spec{Kind: Loss, Rule: link.Rule{Effect: link.Lose,
		Chance: 0.001}}},
	// [RDMA at scale] 4.1.
	{"drop ipid 0xff", "drop ipid 0xff", Spec{Kind: Loss, Rule: link.Rule{Effect: link.Lose,
		Match: link.Match{IPID: link.Masked{Value: 0xff, Mask: 0xff}}}}},
	{"drop ipid 0x1200/0xff00 prob 0.5", "loss 0.5 ipid 0x1200/0xff00", Spec{Kind: Loss,
		Rule: link.Rule{Effect: link.Lose, Chance: 0.5,
			Match: link.Match{IPID: link.Masked{Value: 0x1200, Mask: 0xff00}}}}},
	{"drop qp 0x11 psn 100", "drop qp 0x11 psn 100", Spec{Kind: Loss, Rule: link.Rule{
		Effect: link.Lose, Match: link.Match{QP: 0x11, PSN: link.PSNs{First: 100, Count: 1}}}}},
	{"drop psn 0xffffff-1 limit 3", "drop psn 16777215-1 limit 3", Spec{Kind: Loss,
		Rule: link.Rule{Effect: link.Lose, Limit: 3,
			Match: link.Match{PSN: link.PSNs{First: 0xffffff, Count: 3}}}}},
	{"drop nth 1000", "drop nth 1000", Spec{Kind: Loss, Rule: link.Rule{Effect: link.Lose,
		Nth: 1000}}},
	{"drop kind pfc every 2", "drop kind pfc every 2", Spec{Kind: Loss, Rule: link.Rule{
		Effect: link.Lose, Every: 2, Match: link.Match{Kinds: 1 << 7}}}},
	{"corrupt 1e-4", "corrupt 0.0001", Spec{Kind: Corrupt, Rule: link.Rule{Effect: link.Corrupt,
		Chance: 1e-4}}},
	{"corrupt byte 62 mask 0x80 nth 1", "corrupt byte 62 mask 0x80 nth 1", Spec{Kind: Corrupt,
		Rule: link.Rule{Effect: link.Corrupt, Nth: 1,
			Flip: link.Flip{Fixed: true, Byte: 62, Mask: 0x80}}}},
	{"dup 0.01 seed 7", "dup 0.01 seed 7", Spec{Kind: Duplicate, Rule: link.Rule{
		Effect: link.Duplicate, Chance: 0.01, Seed: 7}}},
	{"reorder 0.01 by 5us", "reorder 0.01 by 5us", Spec{Kind: Reorder, Rule: link.Rule{
		Effect: link.Reorder, Chance: 0.01, By: 5 * time.Microsecond}}},
	{"reorder every 100 by 3", "reorder by 3 frames within 1ms every 100", Spec{Kind: Reorder,
		Rule: link.Rule{Effect: link.Reorder, Every: 100, Behind: 3, Within: time.Millisecond}}},
	{"delay 10us jitter 2us", "delay 10us jitter 2us", Spec{Kind: Delay, Rule: link.Rule{
		Effect: link.Delay, By: 10 * time.Microsecond, Jitter: 2 * time.Microsecond}}},
	{"delay 10us prob 0.5 op ack,cnp", "delay 10us prob 0.5 op ack,cnp", Spec{Kind: Delay,
		Rule: link.Rule{Effect: link.Delay, By: 10 * time.Microsecond, Chance: 0.5,
			Match: link.Match{Verbs: 1<<ib.Ack | 1<<ib.Notify}}}},
	{"mark nth 10", "mark nth 10", Spec{Kind: Mark, Rule: link.Rule{Effect: link.Mark, Nth: 10}}},
	{"mark dscp 26,48", "mark dscp 26,48", Spec{Kind: Mark, Rule: link.Rule{Effect: link.Mark,
		Match: link.Match{DSCP: 1<<26 | 1<<48}}}},
	{"rate 10Gb/s", "rate 10Gb/s", Spec{Kind: Rate, Rate: 10 * unit.GbPerSecond}},
	{"rate 1234567891b/s", "rate 1234567891b/s", Spec{Kind: Rate, Rate: 1234567891}},
	{" down ", "down", Spec{Kind: Down}},
	{"freeze", "freeze", Spec{Kind: Freeze}},
	{"storm 4,3", "storm 3,4", Spec{Kind: Storm, Storm: pfc.SetOf(3, 4)}},
}

func TestTextForm(t *testing.T) {
	for _, c := range texts {
		got, err := Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got != c.want {
			t.Errorf("%s is %+v, want %+v", c.text, got, c.want)
		}
		if got.String() != c.printed {
			t.Errorf("%s is printed as %q, want %q", c.text, got, c.printed)
		}
	}
}

// What cannot be meant is refused with a word of what can.
func TestFaultsOfTheTextAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "want loss, drop,",
		"los 1":                     `unknown fault "los"`,
		"loss":                      "loss wants a probability, as loss 0.001",
		"loss 0":                    "want above 0 and at most 1",
		"loss 1.5":                  "want above 0 and at most 1",
		"loss NaN":                  "want above 0 and at most 1",
		"drop qp":                   "qp wants a destination QP, as 0x11",
		"drop qp 0":                 "qp 0: want a destination QP",
		"drop psn 16777216":         "want a PSN",
		"drop ipid 0x1ff":           "want bits of an IP ID",
		"drop qp 1 qp 2":            "qp is said twice",
		"loss 0.5 prob 0.5":         "the probability is said twice",
		"drop nth 1 every 2":        "not both",
		"drop dscp 64":              "codepoints 0 to 63",
		"drop op nak":               "as write or ack,cnp",
		"drop kind tcp":             "kinds of frames",
		"drop by 5us":               "by is nothing of drop",
		"drop colour red":           `unknown word "colour": want prob, by,`,
		"corrupt mask 1":            "corruption at a place",
		"reorder 0.1":               "either for a time or for a number of frames",
		"reorder 0.1 by 5us frames": "a time is not a number of frames",
		"reorder by 5us within 1us": "a longest time",
		"delay -5us":                "want a time, as 10us",
		"delay":                     "a delay of nothing",
		"delay 2h":                  "1h0m0s at most",
		"rate":                      "rate wants a rate",
		"rate 0":                    "must be positive",
		"rate 10":                   "want a unit, as 10Gb/s",
		"rate fast":                 "want a number with Gb/s",
		"down 3":                    "wants nothing behind it",
		"storm":                     "storm wants priorities",
		"storm 8":                   "priorities are 0 to 7",
		"storm 3 4":                 "storm wants priorities",
	} {
		s, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is read as %v, error %v; want %q", text, s, err, want)
		}
	}
}

// drawSpec makes any valid fault.
func drawSpec(t *rapid.T) (s Spec) {
	s.Kind = Kind(rapid.IntRange(int(Loss), int(Storm)).Draw(t, "kind"))
	r := &s.Rule
	micro := func(name string) time.Duration {
		return time.Duration(rapid.IntRange(1, 1e9).Draw(t, name))
	}
	switch s.Kind {
	case Rate:
		s.Rate = unit.Rate(rapid.Int64Range(1, 1e15).Draw(t, "rate"))
		return s
	case Storm:
		s.Storm = pfc.Set(rapid.IntRange(1, 255).Draw(t, "storm"))
		return s
	case Down, Freeze:
		return s
	case Corrupt:
		if r.Flip.Fixed = rapid.Bool().Draw(t, "fixed"); r.Flip.Fixed {
			r.Flip.Byte = rapid.Uint16().Draw(t, "byte")
			r.Flip.Mask = rapid.Uint8().Draw(t, "mask")
		}
	case Reorder:
		if rapid.Bool().Draw(t, "by time") {
			r.By = micro("by")
		} else {
			r.Behind, r.Within = rapid.IntRange(1, 1000).Draw(t, "behind"), micro("within")
		}
	case Delay:
		r.By, r.Jitter = micro("by"), micro("jitter")
		if rapid.Bool().Draw(t, "jitter alone") {
			r.By = 0
		}
	}
	r.Effect = effects[s.Kind]
	r.Chance = rapid.Float64Range(0, 1).Draw(t, "chance")
	m := &r.Match
	m.IPID.Mask = rapid.Uint16().Draw(t, "ip id mask")
	m.IPID.Value = rapid.Uint16().Draw(t, "ip id") & m.IPID.Mask
	m.DSCP = rapid.Uint64().Draw(t, "dscp")
	m.QP = ib.QPN(rapid.IntRange(0, 1<<24-1).Draw(t, "qp"))
	if m.PSN.Count = uint32(rapid.IntRange(0, 1<<24).Draw(t, "psns")); m.PSN.Count > 0 {
		m.PSN.First = ib.PSN(rapid.IntRange(0, 1<<24-1).Draw(t, "psn"))
	}
	for i := range 11 {
		if rapid.Bool().Draw(t, "kind of frame") {
			m.Kinds |= 2 << i & (1<<(lastKind+1) - 1)
		}
	}
	for _, v := range verbNames {
		if rapid.Bool().Draw(t, "verb") {
			m.Verbs |= 1 << v.verb
		}
	}
	if rapid.Bool().Draw(t, "nth") {
		r.Nth = rapid.Uint64().Draw(t, "n")
	} else {
		r.Every = rapid.Uint64().Draw(t, "every")
	}
	r.Limit, r.Seed = rapid.Uint64().Draw(t, "limit"), rapid.Uint64().Draw(t, "seed")
	return s
}

// Whatever is valid is printed so that it is read as the same again.
func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSpec(t)
		if err := s.Validate(); err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		text := s.String()
		again, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if again != s {
			t.Fatalf("%s\nis  %+v\nwas %+v", text, again, s)
		}
	})
}

// Whatever is read is valid, and is printed so that it is read as the same again.
func FuzzParse(f *testing.F) {
	for _, c := range texts {
		f.Add(c.text)
	}
	f.Add("reorder by 1 frames within 1ns prob 5e-324 psn 0-16777215")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "fault ") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if err := s.Validate(); err != nil {
			t.Fatalf("%q is read, but %v", text, err)
		}
		again, err := Parse(s.String())
		if err != nil || again != s {
			t.Fatalf("%q is printed as %q, which is %+v, %v", text, s, again, err)
		}
	})
}
