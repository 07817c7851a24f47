package nic

// list is a queue of connections, each in it at most once. The links are part of the connection,
// one pair for each of the lists, so a list needs no bound of its own.
type list struct{ head, tail *conn }

// membership names the lists a connection can be in.
type membership uint8

const (
	inDelayed membership = iota
	inCNPs
	inAcks
	inFeedback
	inCompleted
	inFailed
	inAstray
	memberships
)

type link struct {
	next, prev *conn
	in         bool
}

func (l *list) add(c *conn, m membership) {
	k := &c.links[m]
	if k.in {
		return
	}
	*k = link{prev: l.tail, in: true}
	if l.tail == nil {
		l.head = c
	} else {
		l.tail.links[m].next = c
	}
	l.tail = c
}

func (l *list) remove(c *conn, m membership) {
	k := &c.links[m]
	if !k.in {
		return
	}
	if k.prev == nil {
		l.head = k.next
	} else {
		k.prev.links[m].next = k.next
	}
	if k.next == nil {
		l.tail = k.prev
	} else {
		k.next.links[m].prev = k.prev
	}
	*k = link{}
}

// take removes and returns the first.
func (l *list) take(m membership) *conn {
	c := l.head
	if c != nil {
		l.remove(c, m)
	}
	return c
}
