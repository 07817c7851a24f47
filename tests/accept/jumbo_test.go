package accept

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/rocelab/rocelab/deploy/result"
	"github.com/rocelab/rocelab/tests/require"
)

// TestDemoWithJumboFrames: WRITEs of path MTU 4096 cross the switch in one frame each, which comes
// out of the kernel in parts; the run is valid, so virtual time has the same in every sample.
func TestDemoWithJumboFrames(t *testing.T) {
	lab, out := labName(t), t.TempDir()
	code, screen, errs := run(t, "rocelab", short(lab, out, "--mtu", "4096", "--senders", "2")...)
	nothingLeft(t, lab)
	require.Tool(t, "tshark")
	if code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, screen, errs)
	}
	var res result.Result
	text, err := os.ReadFile(filepath.Join(out, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &res); err != nil {
		t.Fatal(err)
	}
	if res.Scenario.PathMTU != 4096 {
		t.Errorf("path MTU %d", res.Scenario.PathMTU)
	}
	for _, r := range res.Runs {
		if !r.Certificate.Valid || len(r.Drops) != 0 {
			t.Errorf("%s: certificate %+v, drops %+v", r.Name, r.Certificate, r.Drops)
		}
		// Ethernet, IPv4, UDP, BTH, payload, ICRC.
		const middle = "frame.len == 4154 && infiniband.bth.opcode == 7"
		if len(tshark(t, filepath.Join(out, r.Capture), middle)) == 0 {
			t.Errorf("%s: tshark finds no WRITE MIDDLE of 4096 bytes", r.Name)
		}
	}
}
