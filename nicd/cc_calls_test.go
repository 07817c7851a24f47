package nicd

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/ib"
)

// still is an executor whose time stands at zero.
type still struct{ daemon.Executor }

func (still) Do(fn func(now unit.Time)) error {
	fn(0)
	return nil
}

// virtualNIC is a NIC of a configuration, to be called.
func virtualNIC(t *testing.T, text string) daemon.Caller {
	t.Helper()
	c, err := decode(text)
	if err != nil {
		t.Fatal(err)
	}
	v, err := c.Virtual()
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	v.Handle(still{}, mux)
	return daemon.Local{Name: "h", Mux: mux}
}

// Traffic classes have algorithms of their own in the configuration, with presets and parameters.
func TestClassesInConfiguration(t *testing.T) {
	const text = "tc_to_cc_map: {3: {algorithm: qcn, preset: baseline, params: {gd: 0.01}}, " +
		"5: {algorithm: none}}"
	c, err := decode(text)
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Machine()
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := m.ClassCC[3].(*cc.QCNParams); !ok || p.Gd != 0.01 {
		t.Errorf("class 3: %+v", m.ClassCC[3])
	}
	if _, ok := m.ClassCC[5].(*cc.NoneParams); !ok || m.ClassCC[4] != nil {
		t.Errorf("classes 4 and 5: %v %v", m.ClassCC[4], m.ClassCC[5])
	}
	want := daemon.Parameter{Name: "tc_to_cc_map.3.params.gd", Value: "0.01"}
	if !slices.Contains(c.Parameters(), want) {
		t.Errorf("%v is not in %v", want, c.Parameters())
	}
}

func TestClassFaults(t *testing.T) {
	for text, want := range map[string]string{
		"8: {}":                                  "f:7: tc_to_cc_map.8: a traffic class is 0 to 7",
		"4: {algorithm: x}":                      "tc_to_cc_map.4.algorithm: no algorithm",
		"4: {algorithm: ldcp, preset: x}":        "tc_to_cc_map.4.preset: ldcp has no preset",
		"4: {algorithm: ldcp, params: {eta: 2}}": "tc_to_cc_map.4.params.eta: 2 is not in (0, 1]",
		"4: {algorithm: ldcp, params: {x: 2}}":   "tc_to_cc_map.4.params.x: unknown parameter",
		"4: {algorithm: ldcp, param: {}}":        "f:7: unknown key param",
	} {
		_, err := decode("tc_to_cc_map:\n  " + text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// What is in force is told choice by choice, and each can be changed, taken back, and refused.
func TestCCCalls(t *testing.T) {
	n := virtualNIC(t, "tc_to_cc_map: {4: {algorithm: dctcp}}")
	post := func(path string, r CCRequest) error {
		return n.Call(t.Context(), http.MethodPost, path, r, nil)
	}
	shown := func(want ...string) {
		t.Helper()
		var st CCStatus
		if err := n.Call(t.Context(), http.MethodGet, "/v1/cc", nil, &st); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range st.Choices {
			line := c.String() + " " + c.Algorithm + " " + c.Preset
			if c.QPs > 0 {
				line += " in use"
			}
			got = append(got, line)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	must := func(r CCRequest) {
		t.Helper()
		if err := post("/v1/cc", r); err != nil {
			t.Fatal(err)
		}
	}
	var e Endpoint
	if err := n.Call(t.Context(), http.MethodPost, "/v1/open", OpenRequest{Bytes: 64},
		&e); err != nil {
		t.Fatal(err)
	}
	three, four, gone := uint8(3), uint8(4), ib.QPN(99)
	shown("nic dcqcn sigcomm15 in use", "tc 4 dctcp rfc8257")
	must(CCRequest{CCConfig: CCConfig{Algorithm: "dcqcn", Preset: "mlx5"}})
	shown("nic dcqcn mlx5 in use", "tc 4 dctcp rfc8257")
	must(CCRequest{TC: &three, CCConfig: CCConfig{Algorithm: "ldcp",
		Params: map[string]any{"gamma": 0.25, "delayed_ack": 4}}})
	shown("nic dcqcn mlx5", "tc 3 ldcp draft in use", "tc 4 dctcp rfc8257")
	must(CCRequest{QPN: &e.QPN, CCConfig: CCConfig{Algorithm: "none"}})
	must(CCRequest{TC: &four})
	shown("nic dcqcn mlx5", "tc 3 ldcp draft", "qp 0x000011 none line_rate in use")
	must(CCRequest{QPN: &e.QPN})
	shown("nic dcqcn mlx5", "tc 3 ldcp draft in use")
	for want, r := range map[string]CCRequest{
		"cc.algorithm: no algorithm": {CCConfig: CCConfig{Algorithm: "tcp"}},
		"algorithm: is missing":      {},
		"want one of them":           {TC: &three, QPN: &e.QPN},
		"QP 0x000063: no such QP":    {QPN: &gone, CCConfig: CCConfig{Algorithm: "none"}},
		"is not positive": {CCConfig: CCConfig{Algorithm: "dcqcn",
			Params: map[string]any{"timer": "0s"}}},
	} {
		if err := post("/v1/cc", r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	shown("nic dcqcn mlx5", "tc 3 ldcp draft in use")
}

// An algorithm that a program registers can be named as ours can; a name that is taken panics.
func TestRegisterAlgorithm(t *testing.T) {
	before := algorithms
	defer func() { algorithms = before }()
	mine := cc.Entry{Name: "mine", Presets: []string{"usual"},
		Params: func(string) cc.Params { return &cc.NoneParams{} }}
	RegisterAlgorithm(mine)
	if _, err := decode("cc: {algorithm: mine}"); err != nil {
		t.Error(err)
	}
	defer func() {
		if recover() == nil {
			t.Error("registered twice")
		}
	}()
	RegisterAlgorithm(mine)
}
