package thresholds

import (
	"fmt"
	"math"
	"time"

	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// Hardware is a port of a real switch and the link behind it. SONiC, "dynamically headroom
// calculation" (doc/qos); the constants are those of its script for one vendor's switches.
type Hardware struct {
	Rate     unit.Rate
	Cable    int        // metres
	MTU      unit.Bytes // largest frame of the port, any class
	Lossless unit.Bytes // largest frame of the lossless classes
	// Response is how long the peer may go on after an XOFF; 0: IEEE 802.3 31B.3.7 at the rate.
	Response time.Duration
	// What a real port has beside the line; 0 where not known. Gearbox is one way.
	MACPHY, Gearbox unit.Bytes
	Pipeline        unit.Bytes // between MAC and buffer, which is where XON is decided
	Cell            unit.Bytes // 0: bytes
	Small           float64    // percent of packets that are small, 0 to 100
}

// speedInCable is light's in the medium, metres a second: SONiC's value.
const speedInCable = 198_000_000

// smallest is the frame that fills least of a cell.
const smallest = 64

// occupancy is how much memory a byte takes: small frames leave cells half empty.
func (h *Hardware) occupancy() float64 {
	if h.Cell == 0 {
		return 1
	}
	worst := 2 * float64(h.Cell) / (1 + float64(h.Cell))
	if h.Cell > 2*smallest {
		worst = float64(h.Cell) / smallest
	}
	return (100 - h.Small + float64(h.Small*worst)) / 100
}

// quantum is a unit of pause time on the line. IEEE 802.3-2022 31B.2
const quantum = 512 / 8

// response is the peer's, in bytes of the line. The standard's is whole quanta; as a time it was
// rounded up to a nanosecond, which is less than one.
func (h *Hardware) response() float64 {
	if h.Response == 0 {
		bytes := pfc.MaxResponse(h.Rate).Seconds() * float64(h.Rate) / 8
		return quantum * math.Floor(bytes/quantum)
	}
	return h.Response.Seconds() * float64(h.Rate) / 8
}

// XOFF is the headroom of a lossless profile: the last line of Derive.
func (h *Hardware) XOFF() unit.Bytes { return unit.Bytes(h.Derive().Result) }

// Derive is SONiC's formula step by step. We deviate: its script divides the cable's bits by 1024
// where it multiplied by 1000, and so counts 2.3 % less cable; and it rounds up to 1024 bytes.
func (h *Hardware) Derive() *Derivation {
	d := &Derivation{Title: fmt.Sprintf("Headroom of a real port at %v, %d m", h.Rate, h.Cable),
		Source: "SONiC, dynamic headroom calculation"}
	cable := d.add("on cable", "2 x length x rate / (8 x speed of light in the cable)",
		fmt.Sprintf("2 x %d x %d / (8 x %d)", h.Cable, int64(h.Rate), speedInCable),
		2*float64(h.Cable)*float64(h.Rate)/(8*speedInCable), "bytes")
	response := d.add("peer response", "time x rate / 8", h.responseText(), h.response(), "bytes")
	propagation := d.add("propagation", "MTU + on cable + 2 gearbox + MAC and PHY + peer response",
		fmt.Sprintf("%d + %s + 2 x %d + %d + %s", h.MTU, number(cable), h.Gearbox, h.MACPHY,
			number(response)),
		float64(h.MTU)+cable+2*float64(h.Gearbox)+float64(h.MACPHY)+response, "bytes")
	factor := h.occupancy()
	if h.Cell > 0 {
		d.add("cell occupancy", "(100 - small + small x worst case) / 100",
			fmt.Sprintf("cells of %d, %s %% small packets", h.Cell, number(h.Small)), factor, "")
	}
	d.add("xon", "pipeline latency", "", float64(h.Pipeline), "bytes")
	exact := float64(h.Lossless) + float64(propagation*factor)
	d.add("xoff", "lossless MTU + propagation x cell occupancy", fmt.Sprintf("%d + %s x %s",
		h.Lossless, number(propagation), number(factor)), math.Ceil(exact), "bytes")
	return d
}

func (h *Hardware) responseText() string {
	if h.Response != 0 {
		return fmt.Sprintf("%v at %v", h.Response, h.Rate)
	}
	return fmt.Sprintf("%s quanta x 512 / 8 (IEEE 802.3 31B.3.7 at %v)",
		number(h.response()/quantum), h.Rate)
}

// Reach is the longest cable, in whole metres, for which the given headroom is enough; -1 if it
// is not even enough without one.
func (h *Hardware) Reach(headroom unit.Bytes) int {
	short := *h
	short.Cable = 0
	rest := (float64(headroom) - float64(short.XOFF())) / h.occupancy()
	if rest < 0 {
		return -1
	}
	return int(rest * 8 * speedInCable / (2 * float64(h.Rate)))
}
