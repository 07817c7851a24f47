package host

import (
	"errors"
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/ib"
)

// Errors of Resolve. They are wrapped with the address and what the kernel said.
var (
	ErrNoDevice    = errors.New("no such device")
	ErrNoRoute     = errors.New("no route to host")   // ENETUNREACH, EHOSTUNREACH and the like
	ErrElsewhere   = errors.New("not by this device") // the kernel would send by another one
	ErrNoAddress   = errors.New("no such address on the device")
	ErrUnreachable = errors.New("no answer from neighbour") // NUD_FAILED
)

// Path is how the kernel would send to a peer.
type Path struct {
	Source netip.Addr // of our addresses, that the kernel prefers for this peer
	MAC    wire.MAC   // of Hop
	VLAN   ib.VLAN    // of the device by which the peer is reached; Priority is left zero
	Hop    netip.Addr // the next hop: the peer itself, or a router
	MTU    int        // of the route, in bytes of IP packet
}

// Address is one of the device's addresses.
type Address struct {
	IP     netip.Addr // without zone
	VLAN   uint16     // 802.1Q VLAN ID; 0 is the device itself, untagged
	Device string     // that has it, as eth0 or eth0.100
	Index  int        // of that device
}

// State is the device as the kernel has it.
type State struct {
	Name      string
	Index     int
	Up        bool // administratively up, with a carrier
	MAC       wire.MAC
	MTU       int // of the device: bytes of IP packet
	Addresses []Address
}

// PathMTU is the largest RoCE path MTU that fits the device, 0 if none does.
func (s *State) PathMTU() int { return PathMTU(s.MTU) }

// headers is what rxe leaves of a device's MTU for headers (RXE_MAX_HDR_LENGTH,
// drivers/infiniband/sw/rxe/rxe_param.h).
const headers = 80

// DeviceMTU is the least MTU of a device for a RoCE path MTU.
func DeviceMTU(path int) int { return path + headers }

// PathMTU is the largest RoCE path MTU, 256 to 4096, that fits a device of this MTU; 0 if none
// does.
func PathMTU(device int) int {
	for mtu := 4096; mtu >= 256; mtu /= 2 {
		if DeviceMTU(mtu) <= device {
			return mtu
		}
	}
	return 0
}
