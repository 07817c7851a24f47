package accept

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rocelab/rocelab/deploy/result"
	"github.com/rocelab/rocelab/tests/require"
)

// short are demo settings for tests: the same frames, less virtual time.
func short(lab, out string, more ...string) []string {
	return append([]string{"demo", "--name", lab, "--out", out, "--duration", "10ms",
		"--warmup", "5ms"}, more...)
}

func TestDemo(t *testing.T) {
	lab, out := labName(t), t.TempDir()
	code, screen, errs := run(t, "rocelab", short(lab, out, "--duration", "40ms",
		"--warmup", "25ms")...)
	nothingLeft(t, lab)
	if code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, screen, errs)
	}
	for _, want := range []string{"PFC alone", "DCQCN", "Jain", "VALID", "report.html", "k="} {
		if !strings.Contains(screen, want) {
			t.Errorf("the screen does not show %q:\n%s", want, screen)
		}
	}
	var res result.Result
	text, err := os.ReadFile(filepath.Join(out, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &res); err != nil {
		t.Fatal(err)
	}
	if len(res.Runs) != 2 {
		t.Fatalf("%d runs in result.json, want 2", len(res.Runs))
	}
	pfc, dcqcn := &res.Runs[0], &res.Runs[1]
	if pfc.PFC.FramesSent == 0 || pfc.CNPsSent != 0 {
		t.Errorf("PFC alone: %d PFC frames, %d CNPs; want some and none", pfc.PFC.FramesSent,
			pfc.CNPsSent)
	}
	if dcqcn.CNPsSent == 0 || dcqcn.CNPsHandled == 0 || dcqcn.ECNMarkedPackets == 0 {
		t.Errorf("DCQCN: %d CNPs sent, %d handled, %d marks; want some of each", dcqcn.CNPsSent,
			dcqcn.CNPsHandled, dcqcn.ECNMarkedPackets)
	}
	if dcqcn.Queue.MeanBytes >= pfc.Queue.MeanBytes {
		t.Errorf("mean queue %.0f with DCQCN, %.0f without", dcqcn.Queue.MeanBytes,
			pfc.Queue.MeanBytes)
	}
	for _, r := range res.Runs {
		if !r.Certificate.Valid || len(r.Drops) != 0 {
			t.Errorf("%s: certificate %+v, drops %+v", r.Name, r.Certificate, r.Drops)
		}
		// 40 Gb/s less 82 bytes of overhead for each packet of 1024: 37.0 Gb/s. ACKs come in
		// steps of 64 packets, which moves up to 1 % across the edge of the window. DCQCN is
		// still recovering from its start in the first third of the time.
		if r.TotalGoodputBps < 30e9 || r.TotalGoodputBps > 37.4e9 {
			t.Errorf("%s: total goodput %.2f Gb/s", r.Name, r.TotalGoodputBps/1e9)
		}
	}
	t.Run("capture", func(t *testing.T) { captureIsDecoded(t, out, &res) })
}

// captureIsDecoded has tshark say what is in the captures.
func captureIsDecoded(t *testing.T, out string, res *result.Result) {
	require.Tool(t, "tshark")
	for _, c := range []struct {
		run          int
		what, filter string
	}{
		{0, "RoCEv2 WRITE", "infiniband.bth.opcode == 7"},
		{0, "RoCEv2 ACK", "infiniband.bth.opcode == 17"},
		{0, "PFC XOFF of priority 3", "macc.cbfc.enbv.c3 == 1 && macc.cbfc.pause_time.c3 > 0"},
		{1, "CNP", "rocelab.cnp"},
		{1, "packet with a right ICRC", "rocelab.icrc.ok == 1"},
		{1, "CE", "ip.dsfield.ecn == 3"},
	} {
		if len(tshark(t, filepath.Join(out, res.Runs[c.run].Capture), c.filter)) == 0 {
			t.Errorf("%s: tshark finds no %s", res.Runs[c.run].Name, c.what)
		}
	}
	for _, r := range res.Runs {
		if bad := tshark(t, filepath.Join(out, r.Capture),
			"_ws.malformed || ip.checksum.status == 0 || rocelab.icrc.ok == 0"); len(bad) != 0 {
			t.Errorf("%s: tshark complains:\n%s", r.Name, bad)
		}
	}
}

// tshark filters the first packets of a capture; with the dissector that the repository ships, if
// the filter wants it, which is slow.
func tshark(t *testing.T, file, filter string) []byte {
	t.Helper()
	args := []string{"-r", file, "-Y", filter, "-o", "ip.check_checksum:TRUE", "-c", "20000"}
	if strings.Contains(filter, "rocelab.") {
		args = append(args, "-c", "1500", "-X", "lua_script:../../deploy/wireshark/rocelab.lua")
	}
	lines, err := exec.Command("tshark", args...).Output()
	if err != nil {
		t.Fatalf("tshark %s: %v", file, err)
	}
	return lines
}

func TestInterruptLeavesNothing(t *testing.T) {
	lab := labName(t)
	c := start(t, "rocelab", short(lab, t.TempDir(), "--duration", "10s")...)
	c.until(t, "k=")
	if err := c.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if code := c.end(t); code != 130 {
		t.Errorf("exit code %d, want 130\n%s", code, c.err.String())
	}
	nothingLeft(t, lab)
}

func TestKilledDaemonEndsTheRun(t *testing.T) {
	lab := labName(t)
	c := start(t, "rocelab", short(lab, t.TempDir(), "--duration", "10s")...)
	c.until(t, "k=")
	pid := daemonPid(t, lab, "h2")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if code := c.end(t); code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
	if errs := c.err.String(); !strings.Contains(errs, "nicd of h2: signal: killed") {
		t.Errorf("the end is not explained:\n%s", errs)
	}
	nothingLeft(t, lab)
}

func TestKilledLabIsClearedByTheNext(t *testing.T) {
	lab, out := labName(t), t.TempDir()
	c := start(t, "rocelab", short(lab, out, "--duration", "10s")...)
	c.until(t, "k=")
	pid := daemonPid(t, lab, "sw0")
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-c.done
	waitGone(t, pid)
	if left, _ := filepath.Glob("/run/netns/" + lab + "-*"); len(left) == 0 {
		t.Error("the test shows nothing: no namespace was left")
	}
	if code, _, errs := run(t, "rocelab", "down", lab); code != 0 {
		t.Errorf("down: exit code %d\n%s", code, errs)
	}
	nothingLeft(t, lab)
}
