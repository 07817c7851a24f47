package show

import (
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/switchd"
)

// Counters are those that one clear command clears.
type Counters string

// The counters, with SONiC's command that clears them.
const (
	PortCounters      Counters = "counters"      // sonic-clear counters
	PFCCounterSet     Counters = "pfccounters"   // sonic-clear pfccounters
	QueueCounterSet   Counters = "queuecounters" // sonic-clear queuecounters
	WREDCounterSet    Counters = "wredcounters"  // sonic-clear queue wredcounters
	GroupDropCounters Counters = "pgdrop"        // sonic-clear priority-group drop counters
)

// Baseline is the state of a switch when counters were cleared.
type Baseline struct {
	At    time.Time     `json:"at"`
	State switchd.State `json:"state"`
}

// Since subtracts from st what the counters were at the baseline. It reports whether it did: a
// baseline that is later than the state is of another life of the switch.
func Since(st *switchd.State, which Counters, base *Baseline) bool {
	if base == nil || base.State.VirtualNs > st.VirtualNs {
		return false
	}
	old := make(map[string]*switchd.PortState)
	for i := range base.State.Ports {
		old[base.State.Ports[i].Name] = &base.State.Ports[i]
	}
	for i := range st.Ports {
		if o := old[st.Ports[i].Name]; o != nil {
			subtract[which](&st.Ports[i], o)
		}
	}
	return true
}

var subtract = map[Counters]func(p, old *switchd.PortState){
	PortCounters: func(p, old *switchd.PortState) {
		lessCounts(&p.Received, &old.Received)
		lessCounts(&p.Sent, &old.Sent)
		for i := range p.DroppedPackets {
			if i < len(old.DroppedPackets) {
				p.DroppedPackets[i] = lessReasons(p.DroppedPackets[i], old.DroppedPackets[i])
			}
		}
		lessDrops(p, old)
	},
	PFCCounterSet: func(p, old *switchd.PortState) {
		for n := range p.PFCReceived.Frames {
			r, o := &p.PFCReceived, &old.PFCReceived
			r.Frames[n] = less(r.Frames[n], o.Frames[n])
			r.PausedNs[n] = less(r.PausedNs[n], o.PausedNs[n])
			r.Transitions[n] = less(r.Transitions[n], o.Transitions[n])
			s, t := &p.PFCSent, &old.PFCSent
			s.Frames[n] = less(s.Frames[n], t.Frames[n])
			s.PausedNs[n] = less(s.PausedNs[n], t.PausedNs[n])
		}
	},
	QueueCounterSet: func(p, old *switchd.PortState) {
		for n := range p.Queues {
			p.Queues[n].Sent = lessCount(p.Queues[n].Sent, old.Queues[n].Sent)
		}
		lessDrops(p, old)
	},
	WREDCounterSet: func(p, old *switchd.PortState) {
		for n := range p.Queues {
			p.Queues[n].Marked = lessCount(p.Queues[n].Marked, old.Queues[n].Marked)
		}
		lessDrops(p, old)
	},
	GroupDropCounters: func(p, old *switchd.PortState) {
		for n := range p.Groups {
			g := &p.Groups[n]
			g.DroppedPackets = less(g.DroppedPackets, old.Groups[n].DroppedPackets)
		}
	},
}

// less is SONiC's ns_diff: what has become smaller counts from 0.
func less[N uint64 | int64](now, old N) N {
	if now < old {
		return 0
	}
	return now - old
}

func lessCount(now, old dataplane.Count) dataplane.Count {
	return dataplane.Count{Frames: less(now.Frames, old.Frames), Bytes: less(now.Bytes, old.Bytes)}
}

func lessCounts(now, old *[8]dataplane.Count) {
	for i := range now {
		now[i] = lessCount(now[i], old[i])
	}
}

func lessReasons(now, old map[string]uint64) map[string]uint64 {
	m := make(map[string]uint64)
	for reason, n := range now {
		if left := less(n, old[reason]); left > 0 {
			m[reason] = left
		}
	}
	return m
}

func lessDrops(p, old *switchd.PortState) {
	for n := range p.Queues {
		q, o := &p.Queues[n], &old.Queues[n]
		q.DroppedPackets = lessReasons(q.DroppedPackets, o.DroppedPackets)
		q.DroppedBytes = lessReasons(q.DroppedBytes, o.DroppedBytes)
	}
}
