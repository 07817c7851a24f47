package fault

import (
	"fmt"
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/ib"
)

// Describe tells which frame it was, in one line: what a person looks for in the capture.
func Describe(b []byte) string {
	c := (&classify.Map{}).Classify(b)
	text := fmt.Sprintf("%v, %d bytes", c.Kind, len(b))
	switch c.Kind {
	case frame.IPv4, frame.RoCE4:
		ip, _ := wire.AsIPv4(b[c.L3Off:])
		text += fmt.Sprintf(", %v > %v, ipid 0x%04x", netip.AddrFrom4(ip.Src()),
			netip.AddrFrom4(ip.Dst()), ip.ID())
	case frame.IPv6, frame.RoCE6:
		ip, _ := wire.AsIPv6(b[c.L3Off:])
		text += fmt.Sprintf(", %v > %v", netip.AddrFrom16(ip.Src()), netip.AddrFrom16(ip.Dst()))
	}
	if at := int(c.L4Off) + wire.UDPLen; c.Kind.IsRoCE() && len(b) >= at+ib.BTHLen {
		bth := (*ib.BTH)(b[at:])
		text += fmt.Sprintf(", %v qp 0x%x psn %d", bth.Opcode(), uint32(bth.DestQP()), bth.PSN())
	}
	return text
}
