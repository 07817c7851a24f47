package daemon

import (
	"strings"
	"testing"
)

type testConfig struct {
	Common `             yaml:",inline"`
	Ports  []PortConfig `yaml:"ports"`
}

func (c *testConfig) Validate() (faults []Fault) {
	faults = c.Common.Validate()
	for i := range c.Ports {
		faults = append(faults, c.Ports[i].Validate("ports["+string(rune('0'+i))+"]")...)
	}
	return faults
}

func TestDecodeNamesEveryFaultWithItsLine(t *testing.T) {
	const text = `name: sw0
metrics: 10.0.0.1:9465
log_level: loud
clock:
  page: /run/x
  slots: 2
  slot: 2
ports:
  - name: swp1
    rate: 40Gb/s
  - rate: 0
    delay: -1us
    far_end: bridge
`
	var c testConfig
	err := Decode("sw.yaml", []byte(text), &c)
	if err == nil {
		t.Fatal("accepted")
	}
	want := []string{
		`sw.yaml:2: metrics: "10.0.0.1:9465": want a loopback address with a port, as 127.0.0.1:9465`,
		`sw.yaml:3: log_level: "loud": want debug, info, warn or error`,
		`sw.yaml:7: clock.slot: must be below clock.slots`,
		`sw.yaml:11: ports[1].name: is missing`,
		`sw.yaml:11: ports[1].rate: must be positive, as 40Gb/s`,
		`sw.yaml:12: ports[1].delay: must not be negative`,
		`sw.yaml:13: ports[1].far_end: "bridge": want nic or switch`,
	}
	if got := strings.Split(
		err.Error(),
		"\n",
	); strings.Join(
		got,
		"\n",
	) != strings.Join(
		want,
		"\n",
	) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestDecodeNamesEveryUnreadableValue(t *testing.T) {
	const text = `name: sw0
ports:
  - name: swp1
    rate: fast
  - {name: swp2, rate: "40GB"}
  - {name: swp3, rate: 'soon', delay: 1us}
`
	var c testConfig
	err := Decode("sw.yaml", []byte(text), &c)
	if err == nil {
		t.Fatal("accepted")
	}
	const end = ": want a number with Gb/s, Mb/s, kb/s or b/s"
	want := `sw.yaml:4: ports[0].rate: rate "fast"` + end + "\n" +
		`sw.yaml:5: ports[1].rate: rate "40GB"` + end + "\n" +
		`sw.yaml:6: ports[2].rate: rate "soon"` + end
	if err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestDecodeIsStrict(t *testing.T) {
	for text, want := range map[string]string{
		"name: a\ncolour: red\n":           "x.yaml:2: unknown key colour",
		"name: a\nports: [{rate: fast}]\n": `rate "fast": want a number`,
		"name: a\n---\nname: b\n":          "more than one YAML document",
		"name: [":                          "x.yaml",
		"":                                 "x.yaml:1: name: is missing",
	} {
		var c testConfig
		if err := Decode(
			"x.yaml",
			[]byte(text),
			&c,
		); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if err := Load("/nonexistent/x.yaml", new(testConfig)); err == nil ||
		!strings.Contains(err.Error(), "/nonexistent/x.yaml") {
		t.Errorf("missing file: %v", err)
	}
}
