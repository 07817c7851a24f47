package pipeline

import (
	"slices"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/mmu"
)

// EgressRoom compares what a queue of lossless classes has room for with what the ingress may hand
// it. While Room is at least Need, the egress drops no lossless frame. Both are bounds, so that a
// queue with less room need not drop, but may.
type EgressRoom struct {
	Port  dataplane.PortID
	Queue mmu.Queue
	// Need is what the lossless groups of all ports that feed the queue can store together.
	Need unit.Bytes
	// Room is what is left of the queue's limits for them, if lossy frames take all they can, and
	// the other queues' lossless frames too.
	Room unit.Bytes
}

// EgressRooms returns the room of every queue that lossless classes use, by port and queue. The
// configuration is valid. SONiC's way to have room enough is an egress pool as large as the memory
// and a static limit as large as the pool.
func (c *Config) EgressRooms() (rooms []EgressRoom) {
	b := egressBounds{c: c, buffer: c.buffer()}
	for i := range c.Ports {
		b.mtu = max(b.mtu, c.Ports[i].Scheduler.MTU)
	}
	for port := range c.Ports {
		for q := range mmu.Queue(mmu.Queues) {
			id := dataplane.PortID(port)
			if lossless, _ := b.feeders(id, q); len(lossless) > 0 {
				rooms = append(rooms, b.room(id, q))
			}
		}
	}
	return rooms
}

// egressBounds works out what queues can be asked to store.
type egressBounds struct {
	c      *Config
	buffer mmu.Config
	mtu    unit.Bytes
}

// feeders are the groups whose frames can be in a queue.
func (b *egressBounds) feeders(out dataplane.PortID, q mmu.Queue) (lossless, lossy []mmu.GroupID) {
	for tc := range uint8(classify.Classes) {
		if b.c.Ports[out].Map.Queue[tc] != q {
			continue
		}
		for in := range b.c.Ports {
			p := &b.c.Ports[in]
			id := mmu.GroupID{Port: dataplane.PortID(in), Group: p.Map.Group[tc]}
			list := &lossy
			if p.lossless(tc) {
				list = &lossless
			}
			if !slices.Contains(*list, id) {
				*list = append(*list, id)
			}
		}
	}
	return lossless, lossy
}

func (b *egressBounds) room(out dataplane.PortID, q mmu.Queue) EgressRoom {
	lossless, lossy := b.feeders(out, q)
	_, all := b.buffer.MostOfQueue(out, q, b.mtu)
	own := min(b.buffer.Most(lossy, b.mtu), all)
	r := EgressRoom{Port: out, Queue: q, Need: b.buffer.Most(lossless, b.mtu), Room: all - own}
	if len(b.buffer.EgressPools) == 0 {
		return r
	}
	profile := &b.buffer.Queues[out][q]
	left := max(b.buffer.EgressShared(profile.Pool)-b.others(out, q), 0)
	r.Room = max(min(r.Room, profile.Reserved+profile.Limit.Sure(left)-own), 0)
	return r
}

// others is what all other queues can take of the shared part of this one's pool. No lossless
// frame is in two queues, so that all of them together store no more than their groups.
func (b *egressBounds) others(out dataplane.PortID, than mmu.Queue) (sum unit.Bytes) {
	pool := b.buffer.Queues[out][than].Pool
	var groups []mmu.GroupID
	seen := make(map[mmu.GroupID]bool)
	for port := range b.c.Ports {
		for q := range mmu.Queue(mmu.Queues) {
			id := dataplane.PortID(port)
			if b.buffer.Queues[id][q].Pool != pool {
				continue
			}
			lossless, lossy := b.feeders(id, q)
			for _, g := range lossless {
				if !seen[g] {
					seen[g] = true
					groups = append(groups, g)
				}
			}
			if id != out || q != than {
				shared, _ := b.buffer.MostOfQueue(id, q, b.mtu)
				sum += min(shared, b.buffer.Most(lossy, b.mtu))
			}
		}
	}
	own, _ := b.feeders(out, than)
	return sum + b.buffer.Most(groups, b.mtu) - b.buffer.Most(own, b.mtu)
}
