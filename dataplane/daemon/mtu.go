package daemon

import (
	"fmt"
	"slices"

	"github.com/vishvananda/netlink"

	"github.com/rocelab/rocelab/dataplane/netspace"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/xsk"
)

// The MTUs of devices, in bytes.
const (
	MinMTU     = 576  // what every IPv4 host takes, RFC 791 section 3.2
	DefaultMTU = 1500 // IEEE 802.3; of a port without a device
)

// MaxFrame is the longest frame that the port takes and sends.
func (p *PortConfig) MaxFrame() int {
	if p.MTU == 0 {
		return int(wire.MaxFrame(DefaultMTU))
	}
	return int(wire.MaxFrame(p.MTU))
}

// FrameSize is how many bytes a frame must hold for all ports.
func FrameSize(ports []PortConfig) int {
	size := xsk.DefaultOptions.MaxFrame
	for i := range ports {
		size = max(size, ports[i].MaxFrame())
	}
	return size
}

// WithMTU are the ports with the MTU of their devices, where the configuration gives none.
func WithMTU(netns string, ports []PortConfig) (found []PortConfig, err error) {
	found = slices.Clone(ports)
	err = netspace.Do(netns, func() error {
		for i := range found {
			p := &found[i]
			if p.MTU != 0 {
				continue
			}
			dev, err := device(netns, p.Name)
			if err != nil {
				return err
			}
			if p.MTU = dev.Attrs().MTU; p.MTU > xsk.MaxMTU {
				return fmt.Errorf("port %s: MTU %d, at most %d is possible", p.Name, p.MTU,
					xsk.MaxMTU)
			}
		}
		return nil
	})
	return found, err
}

// fits says why frames of a device, each of size bytes, do not fit: it is not as configured, or it
// changed since the frames were made.
func (p *PortConfig) fits(dev netlink.Link, size int) error {
	mtu := dev.Attrs().MTU
	if p.MTU != 0 && p.MTU != mtu {
		return fmt.Errorf("port %s: mtu %d is configured, the device has %d", p.Name, p.MTU, mtu)
	}
	if need := int(wire.MaxFrame(mtu)); need > size {
		return fmt.Errorf("port %s: MTU %d needs frames of %d bytes, packet memory holds %d",
			p.Name, mtu, need, size)
	}
	return nil
}
