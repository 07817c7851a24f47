package perftest

import (
	"fmt"
	"slices"
	"strings"
)

// Verb is the operation that a test posts.
type Verb uint8

// The verbs, in perftest's order, which its messages and names follow.
const (
	Send Verb = iota
	Write
	Read
	Atomic
)

var verbs = [...]struct{ name, title string }{{"send", "Send"}, {"write", "RDMA_Write"},
	{"read", "RDMA_Read"}, {"atomic", "Atomic"}}

// Kind is what a test measures.
type Kind uint8

// What a test measures.
const (
	Bandwidth Kind = iota
	Latency
)

// Test is one of the eight programs of the suite.
type Test struct {
	Verb Verb
	Kind Kind
}

// Tests lists all of them.
func Tests() (all []Test) {
	for _, kind := range []Kind{Bandwidth, Latency} {
		for verb := range verbs {
			all = append(all, Test{Verb(verb), kind})
		}
	}
	return all
}

// String is the name of the program without its "ib_": send_bw, read_lat.
func (t Test) String() string {
	return verbs[t.Verb].name + map[Kind]string{Bandwidth: "_bw", Latency: "_lat"}[t.Kind]
}

// ParseTest reads a name as String writes it, with or without perftest's "ib_".
func ParseTest(name string) (Test, error) {
	all := Tests()
	at := slices.IndexFunc(all, func(t Test) bool {
		return t.String() == strings.TrimPrefix(name, "ib_")
	})
	if at < 0 {
		return Test{}, fmt.Errorf("no test %q: there are %v", name, all)
	}
	return all[at], nil
}

// oneSided tests need nothing of the server's program but its memory.
func (t Test) oneSided() bool {
	return t.Verb == Read || t.Verb == Atomic || t.Verb == Write && t.Kind == Bandwidth
}

// halves is the number of times that a message crosses the wire in what is measured as one
// latency: a READ is answered by the NIC and counts as a whole, a SEND by the program, and half of
// the round is reported.
func (t Test) halves() int {
	if t.Verb == Read || t.Verb == Atomic {
		return 1
	}
	return 2
}
