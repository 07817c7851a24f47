package qp

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

var update = flag.Bool("update", false, "write the scenarios' output anew")

// TestScenarios plays testdata/*.txt. A line that starts with "> " is a command, what follows is
// what it prints, and other lines that start with "#" are comment. Commands:
//
//	new [KEY=VALUE ...]  a connects to b at path MTU 256; both have what optionsOf reads
//	post OP SIZE [fence] a gets a work request
//	receive SIZE         b gets a receive
//	a [lose|hold]        a sends its next packet, which is delivered, lost, or kept on its way
//	b [lose|hold]        the same for b: an ACK or NAK first, else part of an answer to a READ
//	deliver              what is held arrives
//	repeat               what a sent last arrives once more
//	wait [b]             the time of a's next deadline comes, or of b's
//	poll                 the completions of both
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, want)
			if *update {
				if err := os.WriteFile(name, got, 0o644); err != nil {
					t.Fatal(err)
				}
			} else if !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// script is a scenario as it plays.
type script struct {
	*testing.T
	out  bytes.Buffer
	a, b *side
	now  unit.Time
	last []byte // that a sent
	held []flight
}

func play(t *testing.T, text []byte) []byte {
	s := &script{T: t}
	for in := bufio.NewScanner(bytes.NewReader(text)); in.Scan(); {
		line := in.Text()
		if strings.HasPrefix(line, "#") || line == "" {
			fmt.Fprintln(&s.out, line)
		}
		if command, ok := strings.CutPrefix(line, "> "); ok {
			fmt.Fprintln(&s.out, line)
			if err := s.do(strings.Fields(command)); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
		}
	}
	return s.out.Bytes()
}

func (s *script) do(words []string) error {
	how := words[len(words)-1]
	switch words[0] {
	case "new":
		return s.start(words[1:])
	case "post":
		return s.post(words[1], words[2], how == "fence")
	case "receive":
		n, _ := strconv.Atoi(words[1])
		return s.b.PostReceive(s.now, ReceiveWR{Local: s.b.local(8192, n)})
	case "a":
		s.last = s.a.next(s.now)
		s.send("a", s.last, s.b, how)
	case "b":
		p := s.b.answer()
		if p == nil {
			p = s.b.next(s.now)
		}
		s.send("b", p, s.a, how)
	case "deliver":
		for _, f := range s.held {
			s.receive(f.to, f.data)
		}
		s.held = nil
	case "repeat":
		s.receive(s.b, s.last)
	case "wait":
		s.wait(how)
	case "poll":
		s.poll("a", s.a)
		s.poll("b", s.b)
	default:
		return errors.New("unknown command")
	}
	return nil
}

func (s *script) wait(who string) {
	from := s.a
	if who == "b" {
		from = s.b
	}
	fmt.Fprintf(&s.out, "+%v", from.Deadline().Sub(s.now))
	s.now = from.Deadline()
	fmt.Fprintln(&s.out, map[bool]string{true: ": timeout"}[from.Wake(s.now)])
}

func (s *script) start(options []string) error {
	cfg, first, err := optionsOf(options)
	if err != nil {
		return err
	}
	change := func(c *Config) {
		cfg.QPN, cfg.PD, cfg.MTU, cfg.SendQueue, cfg.ReceiveQueue = c.QPN, 1, 256, 8, 8
		*c = cfg
	}
	s.a, s.b = newSide(s, 0, change), newSide(s, 1, change)
	connect(s, s.a, s.b, first, 7)
	s.a.fill(1)
	s.b.fill(2)
	return nil
}

// optionsOf reads what both QPs have: psn, the first of a's; and by their names in configuration
// what is not as by default.
func optionsOf(options []string) (c Config, first ib.PSN, err error) {
	c, first = DefaultConfig(), 100
	for _, o := range options {
		key, value, _ := strings.Cut(o, "=")
		n, _ := strconv.ParseUint(value, 0, 24)
		d, _ := time.ParseDuration(value)
		switch key {
		case "psn":
			first = ib.PSN(n)
		case "credits":
			c.Credits = true
		case "recovery":
			err = c.Recovery.UnmarshalText([]byte(value))
		case "out_of_order":
			err = c.OutOfOrder.UnmarshalText([]byte(value))
		case "ack_packets":
			c.AckCoalesce.Packets = int(n)
		case "ack_delay":
			c.AckCoalesce.Delay = d
		case "nak_delay":
			c.NAKDelay = d
		case "retransmit_delay":
			c.RetransmitDelay = d
		case "retry_count":
			c.RetryCount = uint8(n)
		case "rnr_retry":
			c.RNRRetry = uint8(n)
		case "read_depth":
			c.ReadDepth = int(n)
		default:
			err = fmt.Errorf("option %q", o)
		}
		if err != nil {
			return c, first, err
		}
	}
	return c, first, nil
}

func (s *script) post(op, size string, fence bool) error {
	n, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	for o, name := range opNames {
		if name == op {
			return s.a.Post(s.now, WR{Op: Op(o), Local: s.a.local(0, n), Remote: s.b.remote(0),
				Atomic: ib.AtomicOperands{SwapAdd: 1}, Fence: fence})
		}
	}
	return fmt.Errorf("operation %q", op)
}

// send prints a packet and hands it over, if it is not lost.
func (s *script) send(who string, b []byte, to *side, how string) {
	if b == nil {
		fmt.Fprintln(&s.out, who, "has nothing to send")
		return
	}
	p := opened(s, b)
	fmt.Fprintf(&s.out, "%s: %v psn %d", who, p.BTH.Opcode(), p.BTH.PSN())
	if p.RETH != nil {
		fmt.Fprintf(&s.out, " at +%d, %d", p.RETH.VA()-to.region.VA, p.RETH.Length())
	}
	if p.Info.Has.Payload {
		fmt.Fprintf(&s.out, " (%d bytes)", len(p.Payload))
	}
	if p.AETH != nil {
		fmt.Fprintf(&s.out, " %v, msn %d", p.AETH.Syndrome(), p.AETH.MSN())
	}
	if p.BTH.AckReq() {
		fmt.Fprint(&s.out, " AckReq")
	}
	switch how {
	case "lose":
		fmt.Fprintln(&s.out, " LOST")
	case "hold":
		fmt.Fprintln(&s.out, " held")
		s.held = append(s.held, flight{to: to, data: b})
	default:
		fmt.Fprintln(&s.out)
		s.receive(to, b)
	}
}

func (s *script) receive(to *side, b []byte) {
	if why := to.receive(s, s.now, b); why != 0 {
		fmt.Fprintln(&s.out, "dropped:", why)
	}
}

func (s *script) poll(who string, from *side) {
	for _, c := range from.polled() {
		fmt.Fprintf(&s.out, "%s: %v of %d bytes: %v\n", who, c.Op, c.Bytes, c.Status)
	}
}
