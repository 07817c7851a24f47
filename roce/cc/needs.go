package cc

// Needs is what an algorithm wants of its peer beyond standard RoCE. A QP can use it only with a
// peer that has agreed to give congestion feedback.
type Needs struct {
	// Feedback: the peer tells of every packet of data, answers to READs included, and whether
	// it was marked. Ack events come from that, not from the transport, and windows count it.
	Feedback bool
	Every    int  // for at most so many packets at a time, marked ones at once; 1 to 255
	Probe    bool // it answers RTT probes
}

// Any reports whether anything is needed.
func (n Needs) Any() bool { return n.Feedback || n.Probe }

// NeedsOf is what an algorithm needs.
func NeedsOf(p Params) Needs {
	if s, ok := p.(interface{ Needs() Needs }); ok {
		return s.Needs()
	}
	return Needs{}
}
