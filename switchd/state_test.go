package switchd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// Everything that a snapshot says of a port, its queues and its groups is in the state.
func TestStateOfASnapshot(t *testing.T) {
	snap := pipeline.Snapshot{At: 5e9, MACs: 2, Ports: make([]pipeline.PortSnapshot, 1),
		Pools: []pipeline.PoolSnapshot{{Name: "e", Direction: pipeline.Egress, Size: 100,
			Use: mmu.Use{Occupancy: 1, Watermark: 2, Persistent: 3}}}}
	p := &snap.Ports[0]
	p.Name, p.Up = "swp1", true
	p.PFCSend, p.Paused, p.Pausing = pfc.SetOf(3, 4), pfc.SetOf(4), 0
	p.PFCReceived.Recent[3], p.PFCReceived.RecentAt[3] = 7, 9
	p.Dropped[1][frame.DropBuffer] = 3
	p.Queues[3].Dropped[frame.DropWRED], p.Queues[3].DroppedBytes[frame.DropWRED] = 2, 200
	p.Queues[3].Sent = dataplane.Count{Frames: 11, Bytes: 12}
	p.Groups[3].Shared, p.Groups[3].HeadroomPersistent = 21, 22
	p.WatchdogConfig = pfc.SONiCWatchdog()
	p.Watchdog[3].Stormed, p.Watchdog[3].Queue = true, 5
	ports := []daemon.PortConfig{{Name: "swp1", Rate: 40 * unit.GbPerSecond}}
	st := NewState("sw0", ports, &snap)
	got := &st.Ports[0]
	if st.Name != "sw0" || st.VirtualNs != 5e9 || st.MACEntries != 2 || got.RateBps != 40e9 ||
		len(got.PFCSend) != 2 || len(got.Paused) != 1 || got.Paused[0] != 4 ||
		got.PFCReceived.RecentPausedNs[3] != 7 || got.PFCReceived.RecentAtNs[3] != 9 ||
		got.DroppedPackets[1]["buffer"] != 3 || got.Queues[3].DroppedPackets["wred"] != 2 ||
		got.Queues[3].DroppedBytes["wred"] != 200 || got.Queues[3].Sent.Bytes != 12 ||
		got.Groups[3].Shared.Bytes != 21 || got.Groups[3].Headroom.PersistentWatermark != 22 ||
		got.Watchdog.Action != "drop" || got.Watchdog.PollNs != 200e6 ||
		!got.Watchdog.Priorities[3].Stormed || got.Watchdog.Priorities[3].Queue != 5 {
		t.Errorf("port %+v", got)
	}
	if q := st.Pools[0]; q.Direction != "egress" || q.SizeBytes != 100 || q.Watermark != 2 ||
		q.PersistentWatermark != 3 {
		t.Errorf("pool %+v", q)
	}
	text, err := json.Marshal(st)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "null") {
		t.Errorf("a list that is empty is null: %s", text)
	}
}
