package perftest

// layout is how the messages of a test lie in memory, as in perftest:
//
//	| area of QP 0 | area of QP 1 | ... | area of QP 0 | area of QP 1 | ...
//	 what we send or fetch to            what the peer sends, writes or reads
//
// Small messages walk through an area from cache line to cache line; a message above half of the
// cycle buffer always is at its beginning. With Config.Check each message in flight has a slot of
// its own, because it is looked at.
type layout struct {
	qps         int
	cycle, line int // bytes
	area        int // bytes of one area
	tx, rx      int // slots for messages in flight if they are looked at, else 0
}

func newLayout(c *Config, g greeting) layout {
	l := layout{qps: c.QPs, cycle: g.cycle, line: g.cacheLine}
	if c.Check {
		l.tx, l.rx = c.TxDepth, c.RxDepth
		if c.Test.Verb != Send {
			l.rx = 1
		}
	}
	l.area = max(l.cycle, l.stride(c.Size)*max(l.tx, l.rx, 1))
	return l
}

// bytes is the size of it all.
func (l *layout) bytes() int { return 2 * l.qps * l.area }

// stride is the distance between two messages.
func (l *layout) stride(size int) int { return (max(size, 1) + l.line - 1) / l.line * l.line }

// remoteSlots is the number of places of messages in an area of the peer, who lays it out alike.
func (l *layout) remoteSlots(size int) int {
	if size <= l.cycle/2 {
		return l.cycle / l.stride(size)
	}
	return 1
}

func (l *layout) remoteOffset(n, size int) int { return n % l.remoteSlots(size) * l.stride(size) }

// sendAt is where message n of a QP is sent from, or fetched to.
func (l *layout) sendAt(qp, n, size int) int {
	slots := l.remoteSlots(size)
	if l.tx > 0 {
		slots = l.tx
	}
	return qp*l.area + n%slots*l.stride(size)
}

// receiveArea is where the area that a peer's QP reaches begins.
func (l *layout) receiveArea(qp int) int { return (l.qps + qp) * l.area }

// receiveAt is where message n from a peer's QP is received.
func (l *layout) receiveAt(qp, n, size int) int {
	slots := l.remoteSlots(size)
	if l.rx > 0 {
		slots = l.rx
	}
	return l.receiveArea(qp) + n%slots*l.stride(size)
}
