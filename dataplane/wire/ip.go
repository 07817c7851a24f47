package wire

// ECN is the codepoint in the low two bits of the traffic class octet. RFC 3168 section 5.
type ECN uint8

// The four codepoints.
const (
	NotECT ECN = 0
	ECT1   ECN = 1
	ECT0   ECN = 2
	CE     ECN = 3
)

var ecnNames = [4]string{"not-ect", "ect1", "ect0", "ce"}

func (e ECN) String() string { return ecnNames[e&3] }

// Protocol numbers. IANA, Assigned Internet Protocol Numbers.
const (
	ProtoICMP   = 1
	ProtoTCP    = 6
	ProtoUDP    = 17
	ProtoICMPv6 = 58
)

// PortRoCE is the UDP destination port of RoCEv2. IBTA vol 1 A17.3.1.1.
const PortRoCE = 4791
