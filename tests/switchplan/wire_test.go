package switchplan

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/dataplane/capture"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/qos"
	"github.com/rocelab/rocelab/tests/require"
)

// collected is some frames of each kind that testers have received from switches, by a name of the
// kind. The test below runs after the cases, because its file comes last.
var collected = make(map[string][][]byte)

// perKind is how many are kept of a kind.
const perKind = 20

func collect(t *tester) {
	for i := range t.ports {
		for _, a := range t.ports[i].arrivals {
			kind := kindOf(&a)
			if len(collected[kind]) < perKind {
				collected[kind] = append(collected[kind], a.bytes)
			}
		}
	}
}

// kindOf tells frames apart that are decoded differently.
func kindOf(a *arrival) string {
	name := a.class.Kind.String()
	eth, _ := wire.AsEthernet(a.bytes)
	if eth.Type() == wire.TypeVLAN {
		name += ", tagged"
	}
	switch {
	case a.class.Kind == frame.PFC:
		for p := range uint8(wire.Priorities) {
			if a.body().Enabled()&(1<<p) != 0 && a.body().Quanta(p) != 0 {
				return name + " XOFF"
			}
		}
		return name + " XON"
	case a.class.Kind == frame.Other && eth.Type() == wire.TypeARP:
		return "arp"
	case a.class.ECN == wire.CE:
		name += ", CE"
	}
	return name
}

// Every kind of frame that the switch sent in all cases is decoded by tshark without a complaint:
// nothing malformed, no wrong checksum, no expert information of a warning or an error.
func TestTsharkDecodesEverything(t *testing.T) {
	require.Tool(t, "tshark")
	marked := card{config: marking(qos.WREDConfig{Mark: step(0), At: qos.AtDequeue})}
	trial(t, marked, &row{}, inVirtualTime, func(b *bench) { burst(b, ecn(wire.ECT0), 3) })
	path := filepath.Join(t.TempDir(), "all.pcapng")
	c, err := capture.Start(path, []capture.Interface{{Name: "tester"}},
		capture.Options{Frames: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name := range collected {
		names = append(names, name)
	}
	slices.Sort(names)
	frames := 0
	for _, name := range names {
		for _, f := range collected[name] {
			c.Record(unit.Time(frames), 0, f, "")
			frames++
		}
	}
	if err := c.Close(); err != nil || c.Dropped.Load() != 0 {
		t.Fatalf("capture: %v, %d not recorded", err, c.Dropped.Load())
	}
	if n := len(tshark(t, path, "frame")); n != frames {
		t.Errorf("tshark reads %d frames of %d", n, frames)
	}
	// Severities are those of epan/proto.h: warnings and errors, not notes and chats.
	const complaints = "_ws.malformed || _ws.expert.severity >= 6291456 || " +
		"ip.checksum.status == 0 || udp.checksum.status == 0"
	for _, line := range tshark(t, path, complaints) {
		t.Errorf("tshark complains: %s", line)
	}
	r := ourOwn.row("tshark", "every kind of frame that the switch sent is decoded without"+
		" complaint; the UDP checksum 0 of RoCEv2 over IPv6 is allowed")
	for m := range modes {
		r.begin(m)
		r.failed[m] = t.Failed()
		r.note(m, figure{"kinds", fmt.Sprint(len(names)), strings.Join(names, ", ")})
	}
}

// tshark returns a line for each frame that a filter lets through. RoCEv2 sends no UDP checksum,
// over IPv6 either, since the ICRC covers more (IBTA A17); tshark has to be told that this is
// allowed (RFC 6935).
func tshark(t *testing.T, file, filter string) []string {
	t.Helper()
	args := []string{"-r", file, "-Y", filter, "-T", "fields"}
	for _, option := range []string{"ip.check_checksum:TRUE", "udp.check_checksum:TRUE",
		"udp.ignore_ipv6_zero_checksum:TRUE"} {
		args = append(args, "-o", option)
	}
	for _, field := range []string{"frame.number", "frame.protocols", "_ws.expert.message"} {
		args = append(args, "-e", field)
	}
	out, err := exec.Command("tshark", args...).Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	text := strings.TrimSpace(string(out))
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
