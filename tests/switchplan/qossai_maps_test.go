package switchplan

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// obeyAll lets port 2 be stopped whole, lossy queues too. The plans disable transmission for that.
func obeyAll(c *pipeline.Config) { c.Ports[2].PFCObey = allPriorities }

// every is the eight priorities.
var every = []uint8{0, 1, 2, 3, 4, 5, 6, 7}

// markings is one frame of each of the 64 DSCPs, over IPv4 and IPv6, or of each of the 8 PCPs.
func markings(in, out int, trust classify.Trust) (list []packet) {
	for _, v6 := range []bool{false, true} {
		p := packet{from: station(in), to: station(out), v6: v6, payload: 256}
		if trust == classify.TrustPCP {
			for pcp := range uint8(8) {
				p.tag = ib.VLAN{ID: 7, Priority: pcp, Tagged: true}
				list = append(list, p)
			}
			continue
		}
		for dscp := range uint8(64) {
			p.dscp = dscp
			list = append(list, p)
		}
	}
	return list
}

// expectedTC is the class of a packet by the map of its port.
func expectedTC(c *pipeline.Config, p *packet) uint8 {
	m := &c.Ports[p.from].Classify
	if m.Trust == classify.TrustPCP {
		return m.PCP[p.tag.Priority]
	}
	return m.DSCP[p.dscp]
}

// hold stops port 2 and sends it packets from the given ports, one of each marking.
func hold(b *bench, ins ...int) (sent []packet) {
	const out = 2
	b.send(block(out, b.now().Add(time.Microsecond), every...))
	var end unit.Time
	for _, in := range ins {
		for i, p := range markings(in, out, b.cfg.Ports[in].Classify.Trust) {
			sent = append(sent, p)
			s := stream{port: portID(in), at: b.now().Add(start + time.Duration(i)*pace), count: 1,
				frame: &p, every: pace}
			b.send(s)
			end = max(end, s.end())
		}
	}
	b.run(end)
	return sent
}

// mapsToQueues checks what waits in each queue, and then what each queue has sent.
func mapsToQueues(b *bench) {
	const out = 2
	var want [mmu.Queues]unit.Bytes
	var frames [mmu.Queues]uint64
	sent := hold(b, 0)
	for i := range sent {
		q := b.cfg.Ports[out].Map.Queue[expectedTC(b.cfg, &sent[i])]
		want[q] += sent[i].size()
		frames[q]++
	}
	var got [mmu.Queues]unit.Bytes
	for q, u := range b.snapshot().Ports[out].Queues {
		got[q] = u.Occupancy
	}
	b.equal("bytes by queue", got, want)
	b.drain(out, every...)
	var left [mmu.Queues]uint64
	for q, u := range b.snapshot().Ports[out].Queues {
		left[q] = u.Sent.Frames
	}
	b.equal("sent by queue", left, frames)
	b.whole(out, len(sent))
}

// whole checks that all frames came out of a port, with every byte of the packet as it was sent.
func (b *bench) whole(port, count int) {
	b.Helper()
	data, _ := b.arrivals(port)
	if len(data) != count {
		b.Errorf("%d frames came out of port %d, want %d", len(data), port, count)
	}
	for i := range data {
		if _, ok := data[i].number(); !ok {
			b.Fatalf("frame %d at port %d was changed: % x", i, port, data[i].bytes)
		}
	}
}

// mapsToGroups checks what each group of the ingress ports stores.
func mapsToGroups(b *bench, ins ...int) {
	const out = 2
	want := make(map[int][mmu.Groups]unit.Bytes)
	sent := hold(b, ins...)
	for i := range sent {
		in := int(sent[i].from)
		w := want[in]
		w[b.cfg.Ports[in].Map.Group[expectedTC(b.cfg, &sent[i])]] += sent[i].size()
		want[in] = w
	}
	snap := b.snapshot()
	for _, in := range ins {
		var got [mmu.Groups]unit.Bytes
		for g := range got {
			got[g] = stored(snap, in, mmu.PG(g))
		}
		b.equal("bytes by group", got, want[in])
	}
	b.drain(out, every...)
	b.whole(out, len(sent))
}

func trustPCP(c *pipeline.Config) {
	obeyAll(c)
	each(c, func(p *pipeline.Port) { p.Classify.Trust = classify.TrustPCP })
}

// QoS SAI testQosSaiDscpQueueMapping (DscpMappingPB): each of the 64 DSCPs, over IPv4 and IPv6,
// waits in the queue of its class and leaves from there.
func TestQosSaiDscpQueueMapping(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiDscpQueueMapping",
		checks: "64 DSCPs over IPv4 and IPv6 to their queues, many to one", config: obeyAll},
		mapsToQueues)
}

// QoS SAI testQosSaiDot1pQueueMapping (Dot1pToQueueMapping): the same by the PCP of the tag.
func TestQosSaiDot1pQueueMapping(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiDot1pQueueMapping",
		checks: "8 PCPs of tagged frames to their queues", config: trustPCP}, mapsToQueues)
}

// QoS SAI testQosSaiDscpToPgMapping (DscpToPgMapping): each DSCP is charged to the group of its
// class.
func TestQosSaiDscpToPgMapping(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiDscpToPgMapping",
		checks: "64 DSCPs over IPv4 and IPv6 to their priority groups, many to one",
		config: obeyAll}, func(b *bench) { mapsToGroups(b, 0) })
}

// QoS SAI testQosSaiDot1pPgMapping (Dot1pToPgMapping): the same by the PCP of the tag.
func TestQosSaiDot1pPgMapping(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiDot1pPgMapping",
		checks: "8 PCPs of tagged frames to their priority groups", config: trustPCP},
		func(b *bench) { mapsToGroups(b, 0) })
}

// QoS SAI testQosSaiSeparatedDscpToPgMapping: uplinks and downlinks have maps of their own, so the
// same DSCP goes to another class on another port.
func TestQosSaiSeparatedDscpToPgMapping(t *testing.T) {
	conform(t, card{plan: &qosSAI, name: "testQosSaiSeparatedDscpToPgMapping",
		checks: "two ports with different DSCP maps, each by its own",
		config: func(c *pipeline.Config) {
			obeyAll(c)
			up := &c.Ports[1].Classify.DSCP
			up[2], up[3], up[6], up[dscpBest] = 3, 1, 4, 7
		}}, func(b *bench) { mapsToGroups(b, 0, 1) })
}
