package pipeline

import (
	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/fib"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/qos"
)

// Drops counts lost frames by reason.
type Drops [frame.ReasonCount]uint64

// portStats is what only the pipeline counts about a port.
type portStats struct {
	received    [classify.Classes]dataplane.Count
	sent        [classify.Classes]dataplane.Count
	control     dataplane.Count // MAC control frames received
	controlSent dataplane.Count
	cnmsSent    dataplane.Count // that congestion points of this switch made
	dropped     [classify.Classes]Drops
}

// QueueStats is what a queue counted.
type QueueStats struct {
	Sent    dataplane.Count
	Marked  dataplane.Count
	Dropped Drops
	// DroppedBytes are the bytes of Dropped.
	DroppedBytes Drops
	// Guaranteed are those of Sent that went first because the queue was below its minimum rate.
	Guaranteed dataplane.Count
	// Shaped came to the head of the queue while it was above its maximum rate.
	Shaped dataplane.Count
	// Stamped are those of Sent that got a telemetry record, NotStamped those that had no room
	// for one, or as many as a frame may have.
	Stamped, NotStamped uint64
}

// Snapshot is everything that can be seen of a switch at one time. It is filled in place and can
// be used again without allocating.
type Snapshot struct {
	At     unit.Time
	Ledger dataplane.Ledger
	Ports  []PortSnapshot
	Pools  []PoolSnapshot // ingress pools, then egress pools
	MACs   int
	FIB    fib.Stats
	Router RouterSnapshot // zero if the switch bridges only
}

// RouterSnapshot counts what the router's tables hold.
type RouterSnapshot struct {
	Routes, Groups   int // groups of next hops
	Neighbours, Held int // Held are packets that wait for one
	Stats            fib.NeighbourStats
}

// PoolSnapshot is a buffer pool.
type PoolSnapshot struct {
	Name         string
	Direction    Direction
	Size, Shared unit.Bytes // of all, of the shared part
	mmu.Use
	HeadroomSize unit.Bytes // of all groups together; ingress
	Headroom     mmu.Use
}

// Direction is the side of the switch that a pool serves. SAI_BUFFER_POOL_ATTR_TYPE.
type Direction uint8

// The directions.
const (
	Ingress Direction = iota
	Egress
)

// PortSnapshot is a port. Classes count by traffic class, which is the PFC priority.
type PortSnapshot struct {
	Name                         string
	Up                           bool
	Received, Sent               [classify.Classes]dataplane.Count // without MAC control frames
	ControlReceived, ControlSent dataplane.Count
	CNMsSent                     dataplane.Count // of congestion points of this switch; not in Sent
	Dropped                      [classify.Classes]Drops
	PFCReceived                  pfc.ReceiverCounters
	PFCSent                      pfc.GeneratorCounters
	Paused                       pfc.Set // priorities that the other end holds back now
	Pausing                      pfc.Set // priorities that we hold back now
	Watchdog                     [wire.Priorities]WatchdogSnapshot
	WatchdogConfig               pfc.WatchdogConfig
	PFCSend, PFCObey             pfc.Set // as configured
	Queues                       [mmu.Queues]QueueSnapshot
	Groups                       [mmu.Groups]GroupSnapshot
}

// WatchdogSnapshot is what the watchdog of a port knows of a priority.
type WatchdogSnapshot struct {
	pfc.WatchdogStats
	Queue  mmu.Queue // that the priority stops
	Action pfc.Action
}

// QueueSnapshot is an egress queue.
type QueueSnapshot struct {
	QueueStats
	mmu.Use
	Limit  unit.Bytes           // of its use of the egress pool's shared part, at this moment
	Length qos.OccupancySummary // since ClearWatermarks
	QCN    QCNStats
}

// GroupSnapshot is an ingress priority group.
type GroupSnapshot struct {
	mmu.GroupUse
}

// Snapshot fills dst with the state at now, which must not be before the last call.
func (s *Switch) Snapshot(now unit.Time, dst *Snapshot) {
	dst.At, dst.Ledger, dst.MACs, dst.FIB = now, s.ledger, s.macs.Len(), s.macs.Stats
	if s.router != nil {
		n := s.router.Neighbours
		dst.Router = RouterSnapshot{Routes: s.router.Len(), Groups: s.router.Groups(),
			Neighbours: n.Len(), Held: n.Held(), Stats: n.Stats}
	}
	if len(dst.Ports) != len(s.ports) {
		dst.Ports = make([]PortSnapshot, len(s.ports))
	}
	s.snapshotPools(dst)
	for i := range s.ports {
		s.ports[i].snapshot(now, s.buffer, &dst.Ports[i])
		dst.Ports[i].PFCSend, dst.Ports[i].PFCObey = s.cfg.Ports[i].PFCSend, s.cfg.Ports[i].PFCObey
	}
}

func (s *Switch) snapshotPools(dst *Snapshot) {
	ingress, egress := s.cfg.Pools, s.cfg.EgressPools
	if n := len(ingress) + len(egress); len(dst.Pools) != n {
		dst.Pools = make([]PoolSnapshot, n)
	}
	for i := range ingress {
		dst.Pools[i] = PoolSnapshot{Name: ingress[i].Name, Size: ingress[i].Size,
			Shared: s.buffer.Shared(i), Use: s.buffer.Pool(i),
			HeadroomSize: s.buffer.HeadroomSize(i), Headroom: s.buffer.Headroom(i)}
	}
	for i := range egress {
		dst.Pools[len(ingress)+i] = PoolSnapshot{Name: egress[i].Name, Direction: Egress,
			Size: egress[i].Size, Shared: s.buffer.EgressShared(i), Use: s.buffer.EgressPool(i)}
	}
}

func (p *port) snapshot(now unit.Time, b *mmu.Buffer, dst *PortSnapshot) {
	dst.Name, dst.Up = p.name, p.up
	dst.Received, dst.Sent, dst.Dropped = p.stats.received, p.stats.sent, p.stats.dropped
	dst.ControlReceived, dst.ControlSent = p.stats.control, p.stats.controlSent
	dst.CNMsSent = p.stats.cnmsSent
	dst.Paused, dst.Pausing = p.rx.Paused(now), p.tx.Wanted()
	dst.PFCReceived, dst.PFCSent = p.rx.Counters(now), p.tx.Counters(now)
	dst.WatchdogConfig = *p.watch.dog.Config()
	for n := range dst.Watchdog {
		dst.Watchdog[n] = WatchdogSnapshot{p.watch.dog.Stats(pfc.Priority(n)), p.watch.queues[n],
			p.watch.dog.Action()}
	}
	for i := range dst.Queues {
		q := &p.queues[i]
		dst.Queues[i] = QueueSnapshot{q.stats, b.Queue(p.id, mmu.Queue(i)),
			b.QueueLimit(p.id, mmu.Queue(i)), q.length.Summary(now), q.qcn.stats()}
	}
	for i := range dst.Groups {
		dst.Groups[i] = GroupSnapshot{b.Group(p.id, mmu.PG(i))}
	}
}

// QueueDepth is what a queue stores now.
func (s *Switch) QueueDepth(port dataplane.PortID, q mmu.Queue) unit.Bytes {
	return s.buffer.QueueBytes(port, q)
}

// Depth is what a port stores for sending now, over all its queues.
func (s *Switch) Depth(port dataplane.PortID) (sum unit.Bytes) {
	for q := range mmu.Queue(mmu.Queues) {
		sum += s.buffer.QueueBytes(port, q)
	}
	return sum
}

// ClearWatermarks lets user watermarks and queue lengths start again from now; counters go on.
func (s *Switch) ClearWatermarks(now unit.Time) {
	s.buffer.ClearWatermarks()
	for i := range s.ports {
		for q := range s.ports[i].queues {
			s.ports[i].queues[q].length.Reset(now)
		}
	}
}

// ClearWatermark lets the watermarks of one kind of object start again from now.
func (s *Switch) ClearWatermark(kind mmu.Watermark, of mmu.Object) {
	s.buffer.ClearWatermark(kind, of)
}

// MACs is the forwarding database, for static entries and for showing it.
func (s *Switch) MACs() *fib.Table { return s.macs }

// QueueCounts is what a queue sent and marked, cheap enough to sample often.
func (s *Switch) QueueCounts(port dataplane.PortID, q mmu.Queue) (sent, marked dataplane.Count) {
	st := &s.ports[port].queues[q].stats
	return st.Sent, st.Marked
}

// QueueLength sums up a queue's length since ClearWatermarks.
func (s *Switch) QueueLength(now unit.Time, port dataplane.PortID,
	q mmu.Queue) qos.OccupancySummary {
	return s.ports[port].queues[q].length.Summary(now)
}

// QueueQuantiles is how a queue's length was distributed since ClearWatermarks.
func (s *Switch) QueueQuantiles(now unit.Time, port dataplane.PortID,
	q mmu.Queue) qos.Quantiles {
	return s.ports[port].queues[q].length.Quantiles(now)
}

// QueueDropped is how many frames that were meant for a queue were dropped.
func (s *Switch) QueueDropped(port dataplane.PortID, q mmu.Queue) (n uint64) {
	for _, frames := range s.ports[port].queues[q].stats.Dropped {
		n += frames
	}
	return n
}

// Dropped is how many frames the switch lost, for whatever reason.
func (s *Switch) Dropped() uint64 { return s.ledger.DroppedTotal().Frames }

// PFCReceived is how many PFC frames all ports received.
func (s *Switch) PFCReceived() uint64 { return s.pfcReceived }

// PFCSent is how many PFC frames all ports sent.
func (s *Switch) PFCSent() (n uint64) {
	for i := range s.ports {
		n += s.ports[i].stats.controlSent.Frames
	}
	return n
}
