package show

import (
	"strconv"
	"strings"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/switchd"
)

// QueueCounters is `show queue counters` and `show queue wredcounters`.
type QueueCounters struct {
	Head
	Queues []QueueRow `json:"queues"`
	wred   bool
}

// QueueRow is one queue. Drops are those of the egress side; what a priority group refused is in
// `show priority-group drop counters`.
type QueueRow struct {
	Port    string            `json:"port"`
	Queue   int               `json:"queue"`
	Sent    dataplane.Count   `json:"sent"`
	Dropped dataplane.Count   `json:"dropped"`
	WRED    dataplane.Count   `json:"wred_dropped"`
	Marked  dataplane.Count   `json:"ecn_marked"`
	Reasons map[string]uint64 `json:"dropped_frames_by_reason"`
	Bytes   int64             `json:"occupancy_bytes"`
}

// ingress are the reasons to drop that lie with the priority group: SAI counts them there.
var ingress = []frame.Reason{frame.DropBuffer, frame.DropHeadroom}

// NewQueueCounters shows what queues sent and dropped.
func NewQueueCounters(st *switchd.State, f *Filter) *QueueCounters {
	return queueCounters(st, f, false)
}

// NewWREDCounters shows what queues marked, and dropped by WRED.
func NewWREDCounters(st *switchd.State, f *Filter) *QueueCounters {
	return queueCounters(st, f, true)
}

func queueCounters(st *switchd.State, f *Filter, wred bool) *QueueCounters {
	b := &QueueCounters{Head: head(st), Queues: []QueueRow{}, wred: wred}
	for i := range st.Ports {
		for n := range st.Ports[i].Queues {
			row := queueRow(&st.Ports[i], n)
			if zero := row.shown(wred) == ([4]uint64{}); !zero || !f.NonZero {
				b.Queues = append(b.Queues, row)
			}
		}
	}
	return b
}

func queueRow(p *switchd.PortState, n int) QueueRow {
	q := &p.Queues[n]
	row := QueueRow{Port: p.Name, Queue: n, Sent: q.Sent, Marked: q.Marked, Bytes: q.Bytes,
		Reasons: map[string]uint64{}}
	wred := frame.DropWRED.String()
	row.WRED = dataplane.Count{Frames: q.DroppedPackets[wred], Bytes: q.DroppedBytes[wred]}
	for reason, packets := range q.DroppedPackets {
		if !atIngress(reason) {
			row.Dropped.Frames += packets
			row.Dropped.Bytes += q.DroppedBytes[reason]
			row.Reasons[reason] = packets
		}
	}
	return row
}

func atIngress(reason string) bool {
	for _, r := range ingress {
		if r.String() == reason {
			return true
		}
	}
	return false
}

// shown are the columns.
func (r *QueueRow) shown(wred bool) [4]uint64 {
	if wred {
		return [4]uint64{r.WRED.Frames, r.WRED.Bytes, r.Marked.Frames, r.Marked.Bytes}
	}
	return [4]uint64{r.Sent.Frames, r.Sent.Bytes, r.Dropped.Frames, r.Dropped.Bytes}
}

// Text implements Block: a table for each port. SONiC writes thousands separators only after a
// clear; here they are always there.
func (b *QueueCounters) Text() string {
	names := []string{"Port", "TxQ", "Counter/pkts", "Counter/bytes", "Drop/pkts", "Drop/bytes"}
	if b.wred {
		names = []string{"Port", "TxQ", "WredDrp/pkts", "WredDrp/bytes", "EcnMarked/pkts",
			"EcnMarked/bytes"}
	}
	var out strings.Builder
	for i := 0; i < len(b.Queues); {
		t, port := right(names...), b.Queues[i].Port
		for ; i < len(b.Queues) && b.Queues[i].Port == port; i++ {
			cells := []string{port, "UC" + strconv.Itoa(b.Queues[i].Queue)}
			for _, n := range b.Queues[i].shown(b.wred) {
				cells = append(cells, commas(n))
			}
			t.row(cells...)
		}
		out.WriteString(b.cached(port+" ") + t.String() + "\n")
	}
	return out.String()
}
