package frame

import "github.com/rocelab/rocelab/dataplane/wire"

// Class is what one look at a frame's headers tells: the result of classification, by the XDP
// program on real frames or by its Go twin (package classify). The two are held equal by a
// differential test.
type Class struct {
	Kind  Kind
	TC    uint8 // traffic class 0..7 by the port's DSCP or PCP map
	ECN   ECN
	L3Off uint8 // offset of the network header, 0 if none
	L4Off uint8 // offset of the UDP or TCP header, 0 if none
	DSCP  uint8
	Hash  uint32 // over addresses, protocol and ports: the entropy for ECMP; 0 if not IP
}

// Kind says how a frame is handled further.
type Kind uint8

// The kinds. Zero means that nobody has classified the frame.
const (
	Unclassified Kind = iota
	Malformed         // headers contradict the length or each other
	Other             // any EtherType not named here, ARP among them
	IPv4              // and not RoCEv2
	IPv6              // and not RoCEv2
	RoCE4             // UDP destination port 4791 over IPv4, and not a fragment
	RoCE6             // the same over IPv6
	PFC               // MAC control opcode 0x0101
	Pause             // MAC control opcode 0x0001
	MACControl        // MAC control, any other opcode
	CNM               // IEEE 802.1Q congestion notification message, EtherType 0x22E7
)

var kindNames = [...]string{"unclassified", "malformed", "other", "ipv4", "ipv6", "roce4", "roce6",
	"pfc", "pause", "mac_control", "cnm"}

func (k Kind) String() string { return kindNames[k] }

// IsRoCE reports whether the frame carries RoCEv2, over IPv4 or IPv6.
func (k Kind) IsRoCE() bool { return k == RoCE4 || k == RoCE6 }

// Kinds is a set of kinds, bit n for kind n.
type Kinds uint16

// AllKinds is the set of all kinds there are.
const AllKinds Kinds = 1<<len(kindNames) - 1

// Has reports whether k is in the set.
func (s Kinds) Has(k Kind) bool { return s>>k&1 != 0 }

// Without is the set less some kinds.
func (s Kinds) Without(kinds ...Kind) Kinds {
	for _, k := range kinds {
		s &^= 1 << k
	}
	return s
}

// ECN is the congestion codepoint of the IP header.
type ECN = wire.ECN

// The four codepoints.
const (
	NotECT = wire.NotECT
	ECT1   = wire.ECT1
	ECT0   = wire.ECT0
	CE     = wire.CE
)
