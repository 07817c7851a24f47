package qp

// CQ is a completion queue of fixed size, of one QP or shared by several. It is of one of two
// kinds:
//
// One by NewCQ cannot overflow: a work request reserves its place when it is posted, and gives it
// back when its completion is polled. Posting fails where there is no place.
//
// One by NewOverrunCQ is that of the verbs, IBTA 10.2.6: whoever does not poll in time loses
// completions, and with the first that is lost the queue and all its QPs are in error.
type CQ struct {
	ring     queue[Completion]
	reserved int
	may      bool // may overrun
	overrun  bool
	armed    Notify
	event    bool
}

// Notify says which completions are events.
type Notify uint8

// What to be notified of. IBTA 11.4.2.2.
const (
	NotifyNone Notify = iota
	NotifyNext
	NotifySolicited // a receive whose sender asked for it, or any error
)

// NewCQ makes a completion queue for n work requests.
func NewCQ(n int) *CQ { return &CQ{ring: newQueue[Completion](n)} }

// NewOverrunCQ makes a completion queue for n completions at a time.
func NewOverrunCQ(n int) *CQ {
	c := NewCQ(n)
	c.may = true
	return c
}

// Len is how many completions wait to be polled.
func (c *CQ) Len() int { return c.ring.len() }

// Overrun reports that a completion was lost.
func (c *CQ) Overrun() bool { return c.overrun }

// Arm asks for one event. Completions that are there already are none.
func (c *CQ) Arm(n Notify) { c.armed = n }

// Event reports, once, that what was armed for has come.
func (c *CQ) Event() bool {
	e := c.event
	c.event = false
	return e
}

// Poll moves up to len(dst) completions to dst and returns how many.
func (c *CQ) Poll(dst []Completion) int {
	n := min(len(dst), c.ring.len())
	for i := range n {
		dst[i] = *c.ring.at(c.ring.head)
		c.ring.head++
	}
	c.reserved -= n
	return n
}

func (c *CQ) reserve() bool {
	if c.reserved == len(c.ring.slots) && !c.may {
		return false
	}
	c.reserved++
	return true
}

func (c *CQ) push(e Completion) {
	if c.ring.full() {
		c.reserved--
		c.overrun = true
		return
	}
	*c.ring.push() = e
	solicited := e.Solicited || e.Status != Success
	if c.armed == NotifyNext || c.armed == NotifySolicited && solicited {
		c.armed, c.event = NotifyNone, true
	}
}

// broken takes the QP to ERR if its completion queue is.
func (q *QP) broken() bool {
	if q.cq.overrun && q.state != StateReset && q.state != StateErr {
		q.Fail(q.now)
	}
	return q.cq.overrun
}
