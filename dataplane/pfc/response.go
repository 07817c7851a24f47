package pfc

import (
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// responses is how many quanta after the last bit of an XOFF a station may still begin a frame, by
// rate. The values are those that SONiC takes from IEEE 802.3 31B.3.7 for its headroom
// (cfgmgr/buffer_headroom_*.lua, pause_quanta_per_speed).
var responses = [...]struct {
	rate   unit.Rate
	quanta int64
}{
	{100 * unit.MbPerSecond, 1},
	{1 * unit.GbPerSecond, 2},
	{10 * unit.GbPerSecond, 67},
	{25 * unit.GbPerSecond, 80},
	{40 * unit.GbPerSecond, 118},
	{50 * unit.GbPerSecond, 147},
	{100 * unit.GbPerSecond, 394},
	{200 * unit.GbPerSecond, 453},
	{400 * unit.GbPerSecond, 905},
}

// MaxResponse is how long after the last bit of an XOFF a station on a link of rate r may still
// begin a frame; the frame that it has begun then ends as ever. r must be positive. A rate that
// the standard does not know counts as the next one that it does, at r's bit times; above all of
// them it counts as the fastest, at that one's.
func MaxResponse(r unit.Rate) time.Duration {
	last := responses[len(responses)-1]
	for _, known := range responses {
		if r <= known.rate {
			return bitTimes(known.quanta, r)
		}
	}
	return bitTimes(last.quanta, last.rate)
}
