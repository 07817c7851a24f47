package accept

import (
	"strings"
	"syscall"
	"testing"
)

// What congestion control a NIC has is shown, changed while the lab runs, and refused with reasons.
func TestCongestionControlIsChanged(t *testing.T) {
	lab, c := upStarWith(t, "\nnic: {tc_to_cc_map: {4: {algorithm: dctcp}}}\n")
	cc := func(args ...string) (code int, out, errs string) {
		t.Helper()
		return run(t, "rocelab", append([]string{"nic", "cc", "--lab", lab}, args...)...)
	}
	shows := func(want ...string) {
		t.Helper()
		code, out, errs := cc("h1")
		out = strings.Join(strings.Fields(out), " ")
		for _, w := range want {
			if code != 0 || !strings.Contains(out, w) {
				t.Errorf("exit code %d\n%s%s\nwant %q", code, out, errs, w)
			}
		}
	}
	shows("nic dcqcn sigcomm15", "tc 4 dctcp rfc8257 0 g=0.0625")
	for _, args := range [][]string{
		{"h1", "dcqcn", "--preset", "mlx5", "--set", "byte_counter=5000000", "--set", "timer=99us"},
		{"h1", "ldcp", "--tc", "3"},
		{"h1", "--tc", "4", "--inherit"},
	} {
		if code, out, errs := cc(args...); code != 0 || out != "" {
			t.Errorf("%v: exit code %d\n%s%s", args, code, out, errs)
		}
	}
	shows("nic dcqcn mlx5", "timer=99µs byte_counter=5MB", "tc 3 ldcp draft")
	if _, out, _ := cc("h1"); strings.Contains(out, "dctcp") {
		t.Errorf("class 4 has its own still:\n%s", out)
	}
	for want, args := range map[string][]string{
		`no algorithm "tcp"`:                  {"h1", "tcp"},
		"cc.params.timer: soon is no value":   {"h1", "dcqcn", "--set", "timer=soon"},
		"no such QP":                          {"h1", "none", "--qp", "0x99"},
		"want KEY=VALUE":                      {"h1", "none", "--set", "timer"},
		"--inherit: want --tc or --qp":        {"h1", "--inherit"},
		"if any flags in the group [tc qp]":   {"h1", "none", "--tc", "3", "--qp", "1"},
		"a traffic class is 0 to 7":           {"h1", "none", "--tc", "8"},
		"--inherit takes a choice back: want": {"h1", "none", "--tc", "3", "--inherit"},
	} {
		if code, out, errs := cc(args...); code == 0 || !strings.Contains(errs, want) {
			t.Errorf("%v: exit code %d\n%s%s\nwant %q", args, code, out, errs, want)
		}
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	c.end(t)
	nothingLeft(t, lab)
}
