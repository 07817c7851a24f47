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

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
)

var update = flag.Bool("update", false, "write the scenarios' output anew")

// TestScenarios plays testdata/*.txt. A line that starts with "> " is a command, what follows is
// what it prints, and other lines that start with "#" are comment. Commands:
//
//	new [credits] [go_back_0] [psn N]   a connects to b at path MTU 256
//	post OP SIZE    a gets a work request
//	receive SIZE    b gets a receive
//	a [lose]        a sends its next packet, which is delivered or lost
//	b [lose]        the same for b: an ACK or NAK first, else part of an answer to a READ
//	wait            the time of a's next deadline comes
//	poll            the completions of both
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
	lost := words[len(words)-1] == "lose"
	switch words[0] {
	case "new":
		return s.start(words[1:])
	case "post":
		return s.post(words[1], words[2])
	case "receive":
		n, _ := strconv.Atoi(words[1])
		return s.b.PostReceive(ReceiveWR{Local: s.b.local(8192, n)})
	case "a":
		s.send("a", s.a.next(s.now), s.b, lost)
	case "b":
		p := s.b.answer()
		if p == nil {
			p = s.b.next(s.now)
		}
		s.send("b", p, s.a, lost)
	case "wait":
		fmt.Fprintf(&s.out, "+%v", s.a.Deadline().Sub(s.now))
		s.now = s.a.Deadline()
		fmt.Fprintln(&s.out, map[bool]string{true: ": timeout"}[s.a.Wake(s.now)])
	case "poll":
		s.poll("a", s.a)
		s.poll("b", s.b)
	default:
		return errors.New("unknown command")
	}
	return nil
}

func (s *script) start(words []string) error {
	first := ib.PSN(100)
	change := func(c *Config) {
		for i, w := range words {
			switch w {
			case "credits":
				c.Credits = true
			case "go_back_0":
				c.Recovery = GoBack0
			case "psn":
				n, _ := strconv.ParseUint(words[i+1], 0, 24)
				first = ib.PSN(n)
			}
		}
	}
	s.a, s.b = newSide(s, 0, change), newSide(s, 1, change)
	connect(s, s.a, s.b, first, 7)
	s.a.fill(1)
	s.b.fill(2)
	return nil
}

func (s *script) post(op, size string) error {
	n, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	for o, name := range opNames {
		if name == op {
			return s.a.Post(WR{Op: Op(o), Local: s.a.local(0, n), Remote: s.b.remote(0),
				Atomic: ib.AtomicOperands{SwapAdd: 1}})
		}
	}
	return fmt.Errorf("operation %q", op)
}

// send prints a packet and hands it over, if it is not lost.
func (s *script) send(who string, b []byte, to *side, lost bool) {
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
	if lost {
		fmt.Fprintln(&s.out, " LOST")
		return
	}
	fmt.Fprintln(&s.out)
	if why := to.receive(s, s.now, b); why != 0 {
		fmt.Fprintln(&s.out, "dropped:", why)
	}
}

func (s *script) poll(who string, from *side) {
	for _, c := range from.polled() {
		fmt.Fprintf(&s.out, "%s: %v of %d bytes: %v\n", who, c.Op, c.Bytes, c.Status)
	}
}
