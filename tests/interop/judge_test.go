package interop

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/tests/require"
)

// tolerance says what a case brings about on purpose, and so is no error of ours.
type tolerance struct {
	loss    bool // frames are lost, repeated or overtaken on the way
	corrupt bool // and damaged
	dry     bool // a receive queue of the guest may run dry
	dryHere bool // and one of ours
	slow    bool // an acknowledgement may come later than the timer of who waits for it
	late    int  // packets of ours that may come when the guest's queue pairs are gone
}

// judge watches everything that passes on the wire until the test ends, and then tells what is
// wrong with it: what the guest's rxe counted, the ICRC of every packet, and what tshark says.
func (s *station) judge(t *testing.T, allow tolerance) {
	t.Helper()
	before := s.counters(t)
	name := strings.NewReplacer("/", "_", " ", "_", "=", "-").Replace(t.Name())
	path := filepath.Join(s.dir, name+".pcapng")
	s.call(t, "/v1/capture", daemon.CaptureRequest{Path: path, Ports: []string{"eth0"},
		Frames: 1 << 20, Snap: maxMTU + wire.EthernetLen}, nil)
	t.Cleanup(func() {
		s.quiet(t)
		var res daemon.CaptureResult
		s.call(t, "/v1/capture/stop", nil, &res)
		if res.Dropped > 0 {
			t.Errorf("the capture missed %d frames", res.Dropped)
		}
		sent := s.checkFrames(t, path, allow)
		if !allow.loss {
			s.accepted(t, before["rcvd_pkts"]+sent-allow.late)
		}
		judgeCounters(t, before, s.counters(t), sent, allow)
		if !allow.corrupt {
			checkDissection(t, path)
		}
		switch {
		case t.Failed():
			t.Logf("capture: %s", path)
		default:
			if err := os.Remove(path); err != nil {
				t.Error(err)
			}
		}
	})
}

// quiet waits until nothing passes any more: programs that have ended leave it to the guest's
// kernel and to nicd to say goodbye. The ping comes behind all that the guest has sent.
func (s *station) quiet(t *testing.T) {
	t.Helper()
	ctx := within(t, stepTime)
	passed := func() uint64 {
		var st nicd.Status
		if err := s.control.Call(ctx, "GET", "/v1/status", nil, &st); err != nil {
			t.Fatal(err)
		}
		return st.Ledger.Received.Frames + st.Ledger.Sent.Frames
	}
	for n, last := passed(), uint64(0); n != last; {
		// It may be lost, where frames are.
		_, _ = s.guest.Run(ctx, "ping -c 1 -W 1 "+ours4)
		n, last = passed(), n
	}
}

// accepted waits for the guest to have taken in what is on its way. Whether it did is for others to
// judge.
func (s *station) accepted(t *testing.T, packets int) {
	t.Helper()
	_ = s.await(within(t, stepTime), func() error {
		if n := s.counters(t)["rcvd_pkts"]; n < packets {
			return fmt.Errorf("rxe has accepted %d of %d packets", n, packets)
		}
		return nil
	})
}

// call posts to nicd's control socket.
func (s *station) call(t testing.TB, path string, req, resp any) {
	t.Helper()
	if err := s.control.Call(within(t, stepTime), "POST", path, req, resp); err != nil {
		t.Fatal(err)
	}
}

// counters are those of the guest's rxe device.
func (s *station) counters(t testing.TB) map[string]int {
	t.Helper()
	const dir = "/sys/class/infiniband/rxe0/ports/1/hw_counters"
	out, err := s.guest.Run(within(t, stepTime), "cd "+dir+" && grep . *")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int{}
	for l := range strings.Lines(out) {
		name, text, _ := strings.Cut(strings.TrimSpace(l), ":")
		if all[name], err = strconv.Atoi(text); err != nil {
			t.Fatalf("counter %q: %v", l, err)
		}
	}
	return all
}

// offences are counters of rxe that must not grow, unless a case allows it.
// Source of the meanings: drivers/infiniband/sw/rxe, where each is incremented.
var offences = []struct {
	name    string
	meaning string
	excuse  func(tolerance) bool
}{
	{"out_of_seq_request", "we sent a request with a PSN that was not the next",
		func(a tolerance) bool { return a.loss || a.dry }},
	{"rcvd_seq_err", "we sent a NAK for a PSN sequence error",
		func(a tolerance) bool { return a.loss }},
	{"rcvd_rnr_err", "we sent an RNR NAK", func(a tolerance) bool { return a.dryHere }},
	{"send_rnr_err", "we sent what nothing was posted for",
		func(a tolerance) bool { return a.dry }},
	{"duplicate_request", "we repeated a request without need",
		func(a tolerance) bool { return a.loss || a.slow || a.dry }},
	{"completer_retry_err", "we left a request without acknowledgement",
		func(a tolerance) bool { return a.loss || a.slow }},
	{"retry_exceeded_err", "we left a request without acknowledgement for ever", never},
	{"retry_rnr_exceeded_err", "we were not ready for ever", never},
	{"send_err", "rxe could not send", never},
	{"link_downed", "the link was down", never},
}

func never(tolerance) bool { return false }

func judgeCounters(t *testing.T, before, after map[string]int, sent int, allow tolerance) {
	t.Helper()
	for _, o := range offences {
		switch n := after[o.name] - before[o.name]; {
		case n == 0:
		case o.excuse(allow):
			t.Logf("rxe counted %s %d times, as it may here", o.name, n)
		default:
			t.Errorf("rxe counted %s %d times: %s", o.name, n, o.meaning)
		}
	}
	// rxe counts what it takes in after it has checked lengths, P_Key, QP and ICRC. So whatever
	// else may have gone wrong, not one packet of ours was malformed.
	n := after["rcvd_pkts"] - before["rcvd_pkts"]
	if (n > sent || n < sent-allow.late) && !allow.loss {
		t.Errorf("of %d packets that we sent rxe accepted %d", sent, n)
	}
}

// checkFrames checks every RoCE packet in a capture, in both directions, and returns how many we
// sent.
func (s *station) checkFrames(t *testing.T, path string, allow tolerance) (sent int) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ng, err := pcapgo.NewNgReader(f, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; ; n++ {
		b, info, err := ng.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return sent
		}
		if err != nil {
			t.Fatal(err)
		}
		look := (&classify.Map{}).Classify(b)
		if !look.Kind.IsRoCE() {
			continue
		}
		if info.InterfaceIndex == 1 { // egress
			sent++
		}
		fault := wrong(b, int(look.L3Off), int(look.L4Off))
		if fault == "" && tag(b) != s.vlan {
			fault = fmt.Sprintf("is tagged with VLAN %d, want %d", tag(b), s.vlan)
		}
		if fault != "" && !allow.corrupt {
			t.Errorf("frame %d: %s", n, fault)
		}
	}
}

// tag is the VLAN of a frame, 0 if it has none. IEEE 802.1Q-2022 9.6.
func tag(b []byte) uint16 {
	if binary.BigEndian.Uint16(b[12:]) != uint16(wire.TypeVLAN) {
		return 0
	}
	return binary.BigEndian.Uint16(b[14:]) & 0xfff
}

// wrong says what is wrong with a RoCE frame.
func wrong(b []byte, l3, l4 int) string {
	p, ok := ib.Open(b, l3, l4)
	switch {
	case !ok:
		return fmt.Sprintf("% x cannot be taken apart", b[l4:min(len(b), l4+32)])
	case !p.CheckICRC():
		return fmt.Sprintf("%v has a wrong ICRC", p.BTH.Opcode())
	}
	return ""
}

// sends are the opcodes of SENDs, RC and, but for MADs, UD.
const sends = "infiniband.bth.opcode <= 5 or " +
	"(infiniband.bth.opcode in {100,101} and infiniband.bth.destqp != 1)"

// checkDissection has tshark take every frame apart. It finds nothing malformed, but for one thing:
// it takes the first four bytes of a SEND's payload for the header of a protocol over InfiniBand,
// and fails on payload that is too short for what it believes to see, be it rxe's or ours.
func checkDissection(t *testing.T, path string) {
	t.Helper()
	require.Tool(t, "tshark")
	out, err := exec.Command("tshark", "-r", path,
		"-Y", "_ws.malformed and not ("+sends+")", "-T", "fields", "-e", "frame.number",
		"-e", "_ws.col.Info").Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	if len(out) > 0 {
		t.Errorf("tshark finds these frames malformed:\n%s", out)
	}
}
