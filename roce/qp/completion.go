package qp

import "github.com/rocelab/rocelab/roce/ib"

// Status says how a work request ended.
type Status uint8

// The statuses. IBTA 11.6.2.
const (
	Success Status = iota
	LocalLength
	LocalProtection
	BadResponse
	RemoteAccess
	RemoteInvalidRequest
	RemoteOperational
	RetryExceeded
	RNRRetryExceeded
	Flushed
)

var statusNames = [...]string{"success", "local length error", "local protection error",
	"bad response error", "remote access error", "remote invalid request",
	"remote operational error", "transport retry counter exceeded", "RNR retry counter exceeded",
	"work request flushed"}

func (s Status) String() string { return statusNames[s] }

// Completion tells the end of one work request.
type Completion struct {
	ID     uint64
	QPN    ib.QPN
	Op     Op
	Status Status
	Bytes  int
	Imm    uint32 // if HasImm
	HasImm bool

	Solicited bool // receives: the peer asked for an event
}

// CQ is a completion queue of fixed size. It cannot overflow: a work request reserves its place
// when it is posted, and gives it back when its completion is polled.
type CQ struct {
	ring     queue[Completion]
	reserved int
}

// NewCQ makes a completion queue for n work requests.
func NewCQ(n int) *CQ { return &CQ{ring: newQueue[Completion](n)} }

// Len is how many completions wait to be polled.
func (c *CQ) Len() int { return c.ring.len() }

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
	if c.reserved == len(c.ring.slots) {
		return false
	}
	c.reserved++
	return true
}
