package workload

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/deploy/suite"
)

// execute runs an experiment in virtual time and returns its record.
func execute(t *testing.T, e suite.Experiment, seeds int) *suite.Record {
	t.Helper()
	s := suite.Suite{Experiments: []suite.Experiment{e},
		Options: suite.Options{Mode: suite.Virtual, Seed: 1, Seeds: seeds}}
	records, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range records[0].Errors {
		t.Fatal(e)
	}
	return records[0]
}

// The scenarios that are shipped hold what they expect.
func TestShipped(t *testing.T) {
	files, err := filepath.Glob("../scenarios/*.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, path := range files {
		f, err := Load(path)
		if err != nil {
			t.Error(err)
			continue
		}
		r := execute(t, f.Experiment(), 1)
		for _, c := range r.Claims {
			if !c.Holds {
				t.Errorf("%s: %s is %v, want %s", path, c.Text, c.Ours, c.Rule)
			}
		}
		if len(r.Claims) == 0 || len(r.Figures) == 0 || len(r.Tables) != 1 {
			t.Errorf("%s: %d claims, %d figures, %d tables", path, len(r.Claims), len(r.Figures),
				len(r.Tables))
		}
	}
}

// The scenario that the documentation shows is one.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/experiments.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```yaml\n")
	block, _, ok := strings.Cut(block, "```")
	if _, err := Decode("experiments.md", []byte(block)); err != nil || !ok {
		t.Error(err)
	}
}

const ring = `
name: ring
fabric: {star: {hosts: 4}, links: {rate: 40Gb/s, delay: 1us}}
nic: {cc: {algorithm: none}}
duration: 4ms
traffic:
  - {name: reduce, pattern: ring_all_reduce, hosts: "h*", bytes: 4MB}
`

// A ring all-reduce takes 2(N-1) steps of a part each. Every packet of 1024 bytes is 1106 on the
// line: 1024 + 14 Ethernet + 20 IP + 8 UDP + 12 BTH + 4 ICRC + 4 FCS + 20 preamble and gap.
func TestRingAllReduce(t *testing.T) {
	f, err := Decode("ring.yaml", []byte(ring))
	if err != nil {
		t.Fatal(err)
	}
	s, groups := f.Scenario(1)
	r, err := s.Virtual(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	n := f.numbers(r, groups)
	if got := n["reduce.messages"]; got != 4*6 {
		t.Errorf("%v messages, want 6 of each of 4 hosts", got)
	}
	packets := math.Ceil(1e6 / 1024)
	step := packets * 1106 * 8 / 40e9
	least := 6 * step * 1e6 // microseconds
	if got := n["reduce.finish_us"]; got < least || got > least*1.05 {
		t.Errorf("it takes %v us, want a little more than %v", got, least)
	}
}

// Marks are counted wherever they are made, also in queues that the file does not name.
func TestMarksOfAllQueues(t *testing.T) {
	const text = `{name: x, duration: 2ms, fabric: {star: {hosts: 4}, links: {rate: 40Gb/s,
		delay: 1us}}, nic: {cc: {algorithm: dcqcn}}, traffic: [{from: "h[1-3]", to: h4}]`
	var marks []float64
	for _, queues := range []string{"}", `, queues: ["sw0:swp4:3"]}`} {
		f, err := Decode("x.yaml", []byte(text+queues))
		if err != nil {
			t.Fatal(err)
		}
		s, groups := f.Scenario(1)
		r, err := s.Virtual(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		marks = append(marks, f.numbers(r, groups)["ecn_marks"])
	}
	if marks[0] == 0 || marks[0] != marks[1] {
		t.Errorf("%v marks without a queue, %v with the one that marks", marks[0], marks[1])
	}
}

// What is on its way on a link of 20 km when its switch pauses is more than the headroom, which is
// for a few hundred metres: 22.4 KB, [DCQCN] section 4. Virtual time says so like a certificate.
func TestLossOfLosslessClass(t *testing.T) {
	f, err := Decode("x.yaml", []byte(`{name: x, duration: 4ms, fabric: {star: {hosts: 3},
		links: {rate: 40Gb/s, delay: 100us}}, switch: {buffer_pool: {size: 1MB}},
		nic: {cc: {algorithm: none}}, traffic: [{from: "h[12]", to: h3, depth: 16}]}`))
	if err != nil {
		t.Fatal(err)
	}
	claims := execute(t, f.Experiment(), 1).Claims
	if len(claims) != 1 || claims[0].Holds || claims[0].Ours == 0 {
		t.Errorf("%+v", claims)
	}
}

func TestPatterns(t *testing.T) {
	text := func(traffic string) string {
		return "{name: x, duration: 1ms, fabric: {star: {hosts: 4}, links: {rate: 10Gb/s, " +
			"delay: 1us}}, traffic: [" + traffic + "]}"
	}
	for traffic, want := range map[string]string{
		"{from: h1, to: [h2, h3]}":                       "h1>h2 h1>h3",
		"{from: 'h[1-3]', to: h2}":                       "h1>h2 h3>h2",
		"{pattern: pairs, from: [h1, h2], to: [h4, h3]}": "h1>h4 h2>h3",
		"{pattern: all_to_all, hosts: [h1, h2, h3], bytes: 1KB}": "h1>h2 h1>h3 h2>h3 h2>h1 h3>h1 " +
			"h3>h2",
		"{pattern: ring_all_reduce, hosts: [h3, h1], bytes: 1KB}": "h3>h1 h1>h3",
	} {
		f, err := Decode("x.yaml", []byte(text(traffic)))
		if err != nil {
			t.Error(err)
			continue
		}
		s, _ := f.Scenario(1)
		var got []string
		for _, flow := range s.Flows {
			got = append(got, flow.From+">"+flow.To)
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s: %s, want %s", traffic, text, want)
		}
	}
}

// Random receivers follow the seed and are never the sender; a load becomes an interval.
func TestRandomAndLoad(t *testing.T) {
	f, err := Decode("x.yaml", []byte(`{name: x, duration: 1ms,
		fabric: {star: {hosts: 9}, links: {rate: 10Gb/s, delay: 1us}},
		traffic: [{pattern: random, from: "h*", to: "h*", load: 0.5, message: 10KB}]}`))
	if err != nil {
		t.Fatal(err)
	}
	to := func(seed uint64) (names []string) {
		s, _ := f.Scenario(seed)
		for _, flow := range s.Flows {
			if flow.From == flow.To || flow.Arrivals != "poisson" ||
				flow.IntervalNs != 16_000 { // 10 KB at 5 Gb/s
				t.Errorf("%+v", flow)
			}
			names = append(names, flow.To)
		}
		return names
	}
	if a, b, c := to(1), to(1), to(2); !slices.Equal(a, b) || slices.Equal(a, c) || len(a) != 9 {
		t.Errorf("%v, %v, %v", a, b, c)
	}
}

func TestMean(t *testing.T) {
	tr := Traffic{Sizes: []Size{{1000, 0.5}, {3000, 1}}}
	if got := tr.mean(); got != 0.5*1000+0.5*2000 {
		t.Errorf("mean %v", got)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	const good = `name: x
fabric: {star: {hosts: 3}, links: {rate: 10Gb/s, delay: 1us}}
duration: 1ms
traffic:
  - {from: h1, to: h2}
`
	for change, want := range map[string]string{
		"duration: 1ms>duration: 0s":                                `x.yaml:3: duration: must be positive`,
		"from: h1>from: h7":                                         `x.yaml:5: traffic[0].from: "h7" is none of the hosts`,
		"from: h1>pattern: star":                                    `traffic[0].pattern: "star": want each`,
		"from: h1>colour: red, from: h1":                            `x.yaml:5: unknown key colour`,
		"star: {hosts: 3}>star: {hosts: 3}, fat_tree: {k: 4}":       `x.yaml:2: fabric: want one of`,
		"star: {hosts: 3}>fat_tree: {k: 3}":                         `want an even number`,
		"duration: 1ms>duration: 1ms\nnic: {cc: {algorithm: best}}": `best`,
		"duration: 1ms>duration: 1ms\nfaults: [sw0:swp1 burn]":      `x.yaml:4: faults[0]: `,
		"duration: 1ms>duration: 1ms\nqueues: [swp1]":               `x.yaml:4: queues[0]: "swp1"`,
		"duration: 1ms>duration: 1ms\nexpect: [{what: a}]":          `x.yaml:4: expect[0]: want what`,
		"duration: 1ms>duration: 1ms\nwarmup: 1ms":                  `x.yaml:4: warmup: `,
	} {
		from, to, _ := strings.Cut(change, ">")
		text := strings.Replace(good, from, to, 1)
		if _, err := Decode("x.yaml", []byte(text)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v\nwant %s", to, err, want)
		}
	}
	if f, err := Decode("x.yaml", []byte(good)); err != nil || f.Duration != time.Millisecond {
		t.Errorf("%v", err)
	}
}

// An expectation of a number that there is not does not hold, and says which there are.
func TestUnknownNumber(t *testing.T) {
	f, err := Decode("x.yaml", []byte(ring+"expect: [{what: reduce.colour, min: 0}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	c := execute(t, f.Experiment(), 1).Claims[0]
	if c.Holds || !strings.Contains(c.Text, "reduce.finish_us") {
		t.Errorf("%+v", c)
	}
}

func TestSweep(t *testing.T) {
	var axes []Axis
	for _, text := range []string{"traffic.0.bytes=1MB,4MB", "nic.cc.algorithm=none,dcqcn"} {
		a, err := ParseAxis(text)
		if err != nil {
			t.Fatal(err)
		}
		axes = append(axes, a)
	}
	s, err := NewSweep("ring.yaml", []byte(ring), axes)
	if err != nil || len(s.Points) != 4 {
		t.Fatalf("%v: %+v", err, s)
	}
	r := execute(t, s.Experiment([]string{"reduce.finish_us"}), 2)
	if r.Cells != 8 || len(r.Tables) != 1 || len(r.Tables[0].Rows) != 4 {
		t.Fatalf("%d cells, %+v", r.Cells, r.Tables)
	}
	if row := r.Tables[0].Rows[1]; row[0] != "1MB" || row[1] != "dcqcn" ||
		!strings.Contains(row[2], " +- ") {
		t.Errorf("%v", row)
	}
	if fig := r.Figures[0]; len(fig.Curves) != 2 || fig.Curves[1].Name != "algorithm=dcqcn" ||
		!slices.Equal(fig.X.Names, []string{"1MB", "4MB"}) ||
		fig.Curves[0].Y[1] < fig.Curves[0].Y[0] {
		t.Errorf("%+v", fig)
	}
}

// A measure that no run has is not passed over, and one that only some have is shown.
func TestSweepMeasures(t *testing.T) {
	a, err := ParseAxis("duration=100us,4ms") // too short to end a message, and long enough
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSweep("ring.yaml", []byte(ring), []Axis{a})
	if err != nil {
		t.Fatal(err)
	}
	r := execute(t, s.Experiment([]string{"reduce.jain", "reduce.colour"}), 1)
	if len(r.Claims) != 1 || r.Claims[0].Holds ||
		!strings.Contains(r.Claims[0].Text, "reduce.colour: there is no such number") {
		t.Errorf("%+v", r.Claims)
	}
	r = execute(t, s.Experiment(nil), 1)
	if !slices.Contains(r.Tables[0].Columns, "reduce.mct_p99_us") || len(r.Claims) > 0 {
		t.Errorf("%v, %v", r.Tables[0].Columns, r.Claims)
	}
}

func TestSweepMistakes(t *testing.T) {
	for _, text := range []string{"", "a", "=1", "a="} {
		if _, err := ParseAxis(text); err == nil {
			t.Errorf("%q is an axis", text)
		}
	}
	for want, a := range map[string]Axis{
		"no place 7":        {"traffic.7.bytes", []string{"1"}},
		"value above it":    {"duration.x", []string{"1"}},
		"unknown key hosty": {"fabric.star.hosty", []string{"1"}},
	} {
		if _, err := NewSweep("x", []byte(ring), []Axis{a}); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("want %s, got %v", want, err)
		}
	}
	if _, err := NewSweep("x", []byte(ring), nil); err == nil {
		t.Error("nothing was swept")
	}
}
