package nic

import (
	"reflect"
	"testing"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/roce/cc"
)

// maxTransport bounds the transport and congestion state of a QP. Queues are left out, whose
// lengths the owner chooses, and the answers to READs and atomics that are kept, whose number the
// peers agree on: none for tools that only write.
const maxTransport = 1024

// What a NIC keeps for each QP: the machine of the transport, that of congestion control, and what
// ties them to the wire, which is mostly the template of its packets.
func TestMemoryPerQP(t *testing.T) {
	pool := frame.NewPool(1, 1400)
	p := newPeer(t, 1, pool, nil)
	c := p.conn(p.local.QPN)
	size := func(v any) int { return int(reflect.TypeOf(v).Elem().Size()) }
	transport, algorithm := size(c.qp), size(c.cc)
	notify := int(reflect.TypeOf(cc.NotificationPoint{}).Size())
	t.Logf("transport %d, %s %d, notification point %d bytes; with pacer and headers %d",
		transport, reflect.TypeOf(c.cc).Elem(), algorithm, notify,
		transport+algorithm+size(c))
	t.Logf("%d bytes of transport and congestion state, at most %d", transport+algorithm+notify,
		maxTransport)
	if sum := transport + algorithm + notify; sum > maxTransport {
		t.Errorf("%d bytes of transport and congestion state, at most %d", sum, maxTransport)
	}
}
