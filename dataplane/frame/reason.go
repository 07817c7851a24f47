package frame

// Reason names why a frame was dropped. Every drop in switch, NIC and driver is counted under
// one; its String is the `reason` label of the metrics.
type Reason uint8

// The reasons. Zero is no reason and never counted.
const (
	NoReason Reason = iota

	// Frames that cannot be understood.
	DropMalformed // lengths or header fields contradict each other
	DropICRC      // invariant CRC is wrong
	DropMACControl

	// Frames that have nowhere to go.
	DropNotForUs   // destination MAC (NIC, routed port) or IP (NIC) is not ours
	DropUnknownQP  // NIC: no such QP, or not ready to receive
	DropNoRoute    // switch: no egress port but where it came from; NIC: the kernel has no route
	DropLinkDown   // egress port is down
	DropNotRoCE    // NIC: not for the RDMA engine and no kernel behind this driver
	DropUnexpected // NIC: opcode or PSN that the QP's state does not accept
	DropIsolated   // switch: ingress and egress are in one isolation group
	DropOversize   // switch: longer than the MTU of ingress or egress port allows

	// Packets that a router cannot forward.
	DropTTL         // TTL or hop limit used up
	DropNoNeighbour // the next hop's MAC address is not known, and the wait for it is over
	DropIncomplete  // the next hop's MAC address is known, its port is not
	DropIP2Me       // for the switch itself, which has no use for it (SAI: IP2ME trap)

	// Frames for which there is no room.
	DropNoFrame      // frame pool exhausted: the emulator, not the network
	DropBuffer       // lossy: shared buffer or PG limit reached
	DropHeadroom     // lossless: headroom exhausted, the "lossless violated" counter
	DropQueueFull    // egress queue limit
	DropWRED         // WRED on a packet that is not ECN-capable
	DropEgressBuffer // egress pool or the queue's share of it

	// Frames dropped by order.
	DropWatchdog // PFC watchdog
	DropFault    // injected fault

	// Frames lost below us: AF_XDP rings, device gone.
	DropRing

	ReasonCount
)

var reasonNames = [ReasonCount]string{
	"none", "malformed", "icrc", "mac_control", "not_for_us", "unknown_qp", "no_route",
	"link_down", "not_roce", "unexpected", "isolated", "oversize", "ttl", "no_neighbour",
	"incomplete_arp", "ip2me", "no_frame", "buffer", "headroom", "queue_full", "wred",
	"egress_buffer", "pfcwd", "fault", "ring",
}

func (r Reason) String() string { return reasonNames[r] }
