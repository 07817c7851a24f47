package show

import (
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/switchd"
)

func TestTop(t *testing.T) {
	before, now := ethernets("swp1", "swp2"), ethernets("swp1", "swp2")
	for _, st := range []*switchd.State{before, now} {
		st.Ports[0].Up, st.Ports[0].RateBps, st.Ports[1].RateBps = true, 40e9, 40e9
	}
	before.VirtualNs, now.VirtualNs = 1e6, 2e6
	p := &now.Ports[0]
	p.Sent[3] = dataplane.Count{Frames: 1000, Bytes: 1000_000}
	p.PFCReceived.PausedNs[3], p.PFCReceived.PausedNs[4] = 250_000, 100_000
	p.PFCSent.PausedNs[3] = 500_000
	p.Queues[3].Bytes, p.Queues[3].Marked.Frames = 123_456, 20
	p.DroppedPackets = []map[string]uint64{{"buffer": 2}, {"wred": 1}}
	p.Watchdog.Priorities[4].Stormed = true
	want(t, NewTop(before, now, 200*time.Millisecond).Text(), `
at 2ms, dilation 200
  Port    State    RX Gb/s    TX Gb/s    TX use    Queued    RX paused    TX paused    ECN/ms    Drop/ms    Storm
------  -------  ---------  ---------  --------  --------  -----------  -----------  --------  ---------  -------
  swp1        U       0.00       8.00    20.48%   123,456       25.00%       50.00%      20.0        3.0        4
  swp2        D       0.00       0.00     0.00%         0        0.00%        0.00%       0.0        0.0        -
`)
	if b := NewTop(now, now, time.Second); b.PeriodNs != 0 || b.Ports[0].Marked != 0 {
		t.Errorf("rates while the clock stands: %+v", b)
	}
}
