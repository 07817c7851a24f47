package nic

import (
	"fmt"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// ReceiveConfig models what is between the wire and the handling of a packet: a buffer, and a
// pipeline that takes its time. The zero value models nothing: every packet is handled at the
// moment it arrives, so none waits and the NIC pauses nobody.
//
//	          XON     XOFF          Buffer
//	|----------|--------|~~~~~~~~~~~~~|      bytes of lossless priorities that wait
//	 resumes <-+        +-> pauses     headroom: what is on the way when the pause is sent
//
// The priorities of Config.PFC share one buffer, all others another one, as the port buffers of
// a NIC do to which priorities are mapped (mlnx_qos, prio2buffer). A threshold is one of the
// buffer, so all priorities in it are paused together.
type ReceiveConfig struct {
	Buffer unit.Bytes // for the priorities of Config.PFC; 0: the model is off
	Lossy  unit.Bytes // for all others
	XOFF   unit.Bytes // above so much they are paused
	XON    unit.Bytes // at so much, or less, they run again
	Quanta uint16     // announced by an XOFF, in 512 bit times; 0 is the longest

	// Time that the pipeline takes for a frame: PacketTime, and its bytes at Rate.
	PacketTime time.Duration
	Rate       unit.Rate // 0: infinite
	MTT        MTTConfig // what it waits for translations

	// Watchdog is for how long the pipeline may stand still while the NIC pauses its switch, before
	// the NIC stops to do that, for good: PaperWatchdog. 0 is no watchdog.
	Watchdog time.Duration
}

// on reports whether the receive side is modelled.
func (c *ReceiveConfig) on() bool { return c.Buffer > 0 }

// most bounds the sizes and times of the model, far above any hardware's.
const (
	maxBuffer      = 1 << 30
	maxReceiveTime = time.Second
	maxWatchdog    = time.Minute
)

// validate returns every fault.
func (c *ReceiveConfig) validate() (faults []error) {
	must := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf("receive."+format, args...))
		}
	}
	must(c.Buffer >= 0 && c.Buffer <= maxBuffer, "buffer: %v is not in 0..%v", c.Buffer,
		unit.Bytes(maxBuffer))
	must(c.Rate >= 0, "rate: %v is negative", c.Rate)
	must(c.Watchdog >= 0 && c.Watchdog <= maxWatchdog, "watchdog: %v is not in 0..%v", c.Watchdog,
		maxWatchdog)
	must(c.PacketTime >= 0 && c.PacketTime <= maxReceiveTime, "packet_time: %v is not in 0..%v",
		c.PacketTime, maxReceiveTime)
	faults = append(faults, c.MTT.validate(c.on())...)
	if !c.on() {
		must(c.Rate == 0 && c.PacketTime == 0,
			"buffer: is not set, and a pipeline that takes time needs one")
		must(c.Watchdog == 0, "watchdog: receive.buffer is not set, so there is nothing to guard")
		return faults
	}
	must(c.Lossy > 0 && c.Lossy <= maxBuffer, "lossy_buffer: %v is not in 1..%v", c.Lossy,
		unit.Bytes(maxBuffer))
	must(c.XOFF > 0 && c.XOFF < c.Buffer, "xoff: %v is not between 0 and the buffer of %v",
		c.XOFF, c.Buffer)
	must(c.XON >= 0 && c.XON <= c.XOFF, "xon: %v is not in 0..%v, which is xoff", c.XON, c.XOFF)
	return faults
}
