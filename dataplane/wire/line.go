package wire

import "github.com/rocelab/rocelab/dataplane/unit"

// What a frame costs on the line beyond its bytes in memory. IEEE 802.3-2022 3.1.1, 4.4.2.
const (
	preambleLen unit.Bytes = 7
	sfdLen      unit.Bytes = 1
	ifgLen      unit.Bytes = 12

	// FCSLen is the length of the frame check sequence, which frames in memory do not have.
	FCSLen unit.Bytes = 4

	// Overhead is added to every frame's length to get its time on the wire.
	Overhead = preambleLen + sfdLen + FCSLen + ifgLen
	// MinFrame is the shortest frame without FCS; a MAC pads to it.
	MinFrame unit.Bytes = 60
)

// MaxFrame is the longest frame, without FCS, that a device of an MTU takes and sends: the header
// and one 802.1Q tag come on top. A Linux device refuses longer ones (is_skb_forwardable in the
// kernel's netdevice.h), so they do not cross a veth.
func MaxFrame(mtu int) unit.Bytes { return unit.Bytes(mtu + EthernetLen + TagLen) }

// OnLine is how many byte times a frame of n bytes in memory occupies a line.
func OnLine(n unit.Bytes) unit.Bytes { return max(n, MinFrame) + Overhead }
