package pipeline

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
	"github.com/rocelab/rocelab/switchd/mmu"
)

var update = flag.Bool("update", false, "write the stories' output into testdata")

// TestStories runs testdata/*.txt: commands, then ----, then what they print, then an empty line.
// Lines that start with # are the story.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no stories", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := tell(t, string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				t.Errorf("the story goes differently:\n%s\nwant\n%s", got, text)
			}
		})
	}
}

// tell returns the story with what really happened.
func tell(t *testing.T, text string) string {
	s := &story{}
	var out strings.Builder
	for i, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			out.WriteString("\n")
		}
		commands, _, hasOutput := strings.Cut(block+"\n", "----\n")
		out.WriteString(commands)
		var printed strings.Builder
		for line := range strings.SplitSeq(commands, "\n") {
			if fields := strings.Fields(line); len(fields) > 0 && fields[0] != "#" {
				s.command(t, &printed, fields)
			}
		}
		if hasOutput || printed.Len() > 0 {
			out.WriteString("----\n" + printed.String())
		}
	}
	return out.String()
}

// story is a switch and what commands do to it.
type story struct {
	*bench
	events []Event
}

// args is the key=value arguments of a command.
type args map[string]string

func (a args) number(key string, otherwise int) int {
	if v, err := strconv.Atoi(a[key]); err == nil {
		return v
	}
	return otherwise
}

func (s *story) command(t *testing.T, out *strings.Builder, fields []string) {
	a := args{}
	var words []string
	for _, f := range fields[1:] {
		if key, value, ok := strings.Cut(f, "="); ok {
			a[key] = value
		} else {
			words = append(words, f)
		}
	}
	switch fields[0] {
	case "switch":
		s.bench = newBench(t, storyConfig(a))
		s.sw.SetNotify(func(e Event) { s.events = append(s.events, e) })
	case "rx":
		s.receive(out, a)
	case "pfc":
		s.rx(dataplane.PortID(a.number("port", 0)), wiretest.PFC(9, quanta(a)))
	case "tx":
		s.transmit(out, a)
	case "wait":
		d, err := time.ParseDuration(words[0])
		if err != nil {
			t.Fatal(err)
		}
		s.wait(unit.Time(d))
	case "storm":
		s.storm(t, words[0], a)
	case "link":
		s.dev.SetLink(s.now, dataplane.PortID(a.number("port", 0)), words[0] == "up")
	case "show":
		s.show(out, words[0], a)
	default:
		t.Fatalf("no command %q", fields[0])
	}
	for _, e := range s.events {
		fmt.Fprintf(out, "%v at %v: port %d priority %d queue %d %v\n", e.Kind, e.At, e.Port,
			e.Priority, e.Queue, e.Action)
	}
	s.events = nil
	s.check()
}

// storm has a port paused for a time without a gap, as a NIC does that never stops.
func (s *story) storm(t *testing.T, length string, a args) {
	d, err := time.ParseDuration(length)
	if err != nil {
		t.Fatal(err)
	}
	const every = 65535 * wire.QuantumBits / 40 / 2
	for end := s.now.Add(d); s.now < end; s.wait(every) {
		s.rx(dataplane.PortID(a.number("port", 0)), wiretest.PFC(9, quanta(a)))
		for s.tx(0) != nil { // what it tells its neighbour, who is not looked at here
		}
	}
}

func storyConfig(a args) Config {
	c := testConfig(a.number("ports", 3))
	for i := range c.Ports {
		p := &c.Ports[i]
		for g := range p.Groups {
			if n := a.number("limit", 0); n != 0 {
				p.Groups[g].Limit = mmu.Limit{Static: unit.Bytes(n)}
			}
			if p.Groups[g].Lossless {
				p.Groups[g].Headroom = unit.Bytes(a.number("headroom", 22400))
			}
		}
		if n := a.number("kmin", 0); n != 0 {
			p.Queues[3].WRED.Mark.Kmin = unit.Bytes(n)
			p.Queues[3].WRED.Mark.Kmax = unit.Bytes(n)
		}
		p.Watchdog = watchdogs[a["watchdog"]]
		if a["action"] != "" {
			p.Watchdog.Action = map[string]pfc.Action{"forward": pfc.Forward,
				"alert": pfc.Alert}[a["action"]]
		}
		p.Queues[0].WRED.Drop.Kmin = unit.Bytes(a.number("drop", 0))
		p.Queues[0].WRED.Drop.Kmax = unit.Bytes(a.number("drop", 0))
		if a["trust"] == "pcp" {
			p.Classify.Trust = classify.TrustPCP
			p.Classify.PCP = [8]uint8{0, 1, 2, 3, 4, 5, 6, 7}
		}
	}
	return c
}

var watchdogs = map[string]pfc.WatchdogConfig{
	"sonic": pfc.SONiCWatchdog(), "paper": pfc.SwitchWatchdog()}

func quanta(a args) map[uint8]uint16 {
	times := map[uint8]uint16{}
	for p := range uint8(wire.Priorities) {
		if v, ok := a[strconv.Itoa(int(p))]; ok {
			n, _ := strconv.Atoi(v)
			times[p] = uint16(n)
		}
	}
	return times
}

// receive lets frames arrive and prints what became of them.
func (s *story) receive(out *strings.Builder, a args) {
	const headers = wire.EthernetLen + wire.IPv4Len + wire.UDPLen
	before := s.sw.Ledger()
	for range a.number("n", 1) {
		p := wiretest.Packet{
			Src:  wiretest.MACOrNumber(a.number("src", 1)),
			Dst:  wiretest.MACOrNumber(a.number("dst", 2)),
			DSCP: uint8(a.number("dscp", 26)),
			ECN:  wire.ECN(a.number("ecn", 2)),
			V6:   a["ip"] == "6",
		}
		if pcp, ok := a["pcp"]; ok {
			n, _ := strconv.Atoi(pcp)
			p.Tags = []wiretest.Tag{{Type: wire.TypeVLAN, PCP: uint8(n), VID: 1}}
		}
		p.Payload = max(a.number("len", 1000)-headers, 0)
		b := p.Bytes()
		s.rx(dataplane.PortID(a.number("port", 0)), b[:len(b)-a.number("cut", 0)])
	}
	after := s.sw.Ledger()
	if n := after.Buffered.Frames - before.Buffered.Frames; n > 0 {
		fmt.Fprintf(out, "stored %d\n", n)
	}
	printDrops(out, &before, &after)
}

func printDrops(out *strings.Builder, before, after *dataplane.Ledger) {
	for why := range after.Dropped {
		if n := after.Dropped[why].Frames - before.Dropped[why].Frames; n > 0 {
			fmt.Fprintf(out, "dropped %d %v\n", n, frame.Reason(why))
		}
	}
}

// transmit sends up to n frames and prints equal ones in one line.
func (s *story) transmit(out *strings.Builder, a args) {
	times, last := 0, ""
	flush := func() {
		if times > 0 {
			fmt.Fprintf(out, "%d x %s\n", times, last)
		}
		times = 0
	}
	for range a.number("n", 1) {
		b := s.tx(dataplane.PortID(a.number("port", 0)))
		if b == nil {
			flush()
			fmt.Fprintln(out, "nothing")
			return
		}
		if text := describe(b); text != last {
			flush()
			last = text
		}
		times++
	}
	flush()
}

func describe(b []byte) string {
	var m classify.Map
	c := m.Classify(b)
	if c.Kind == frame.PFC {
		body, _ := wire.AsPFC(b[wire.EthernetLen:])
		text := "pfc"
		for p := range pfc.Set(body.Enabled()).All() {
			text += fmt.Sprintf(" %d=%d", p, body.Quanta(uint8(p)))
		}
		return text
	}
	eth, _ := wire.AsEthernet(b)
	return fmt.Sprintf("%v %d->%d len=%d dscp=%d %v", c.Kind, eth.Src()[5], eth.Dst()[5], len(b),
		c.DSCP, c.ECN)
}

// show prints a part of the snapshot.
func (s *story) show(out *strings.Builder, what string, a args) {
	var snap Snapshot
	s.sw.Snapshot(s.now, &snap)
	port := &snap.Ports[a.number("port", 0)]
	switch what {
	case "queue":
		q := &port.Queues[a.number("queue", 3)]
		fmt.Fprintf(out, "occupancy %d watermark %d sent %d marked %d mean %.0f\n", q.Occupancy,
			q.Watermark, q.Sent.Frames, q.Marked.Frames, q.Length.Mean)
	case "group":
		g := &port.Groups[a.number("group", 3)]
		fmt.Fprintf(out, "shared %d headroom %d limit %d xoff %v dropped %d\n", g.Shared,
			g.Headroom, g.Limit, g.XOFF, g.Dropped)
	case "pfc":
		for p := range wire.Priorities {
			rx, tx := &port.PFCReceived, &port.PFCSent
			if rx.Frames[p]+tx.Frames[p] > 0 {
				fmt.Fprintf(out, "priority %d: received %d paused %v transitions %d; ", p,
					rx.Frames[p], rx.Paused[p], rx.Transitions[p])
				fmt.Fprintf(out, "sent %d paused %v\n", tx.Frames[p], tx.Paused[p])
			}
		}
	case "pfcwd":
		for n, w := range port.Watchdog {
			if w.Detected > 0 {
				fmt.Fprintf(out, "queue %d stormed %v %d/%d tx %v rx %v last tx %v rx %v\n", n,
					w.Stormed, w.Detected, w.Restored, w.TX, w.RX, w.LastTX, w.LastRX)
			}
		}
	case "ledger":
		l := &snap.Ledger
		fmt.Fprintf(out, "received %d generated %d sent %d consumed %d buffered %d\n",
			l.Received.Frames, l.Generated.Frames, l.Sent.Frames, l.Consumed.Frames,
			l.Buffered.Frames)
		printDrops(out, &dataplane.Ledger{}, l)
	}
}
