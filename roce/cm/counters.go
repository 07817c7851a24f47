package cm

import "github.com/rocelab/rocelab/roce/ib"

// Messages counts by message, in the order of the attributes from REQ to SIDR_REP.
type Messages [9]uint64

// add counts one message; those about alternate paths are not counted here.
func (c *Messages) add(a ib.Attribute) {
	if i := int(a) - int(ib.AttrREQ); i >= 0 && i < len(c) {
		c[i]++
	}
}

// Of is how many messages of a kind were counted.
func (c Messages) Of(a ib.Attribute) uint64 {
	if i := int(a) - int(ib.AttrREQ); i >= 0 && i < len(c) {
		return c[i]
	}
	return 0
}

// Total is how many messages of any kind were counted.
func (c Messages) Total() (n uint64) {
	for _, v := range c {
		n += v
	}
	return n
}

// Counters are what a manager counted. The first four are those of Linux
// drivers/infiniband/core/cm.c: cm_tx_msgs, cm_tx_retries, cm_rx_msgs, cm_rx_duplicates.
type Counters struct {
	Sent       Messages // repetitions included
	Repeated   Messages // because nobody answered
	Received   Messages
	Duplicates Messages // received again

	Invalid  uint64 // MADs that are no message of ours
	Unknown  uint64 // messages for a communication id that nobody has, or not with that peer
	Backlog  uint64 // REQs and SIDR_REQs dropped, because the listener has its backlog
	Overflow uint64 // messages dropped on their way out: too many at once
}
