package host

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/wire"
)

// device is a State with what is needed to look things up.
type device struct {
	State
	vlans map[int]uint16 // the devices we send by, and the VLAN of each: 0 is the device itself
}

// look reads the device's state, tells it if it changed, and returns it.
func (h *Host) look() (device, error) {
	h.looking.Lock()
	defer h.looking.Unlock()
	return h.lookLocked()
}

func (h *Host) lookLocked() (device, error) {
	d, err := h.readDevice()
	if errors.Is(err, ErrNoDevice) && h.told {
		// It went away, and may come back. Who sends by it has an answer meanwhile.
		d, err = device{State: State{Name: h.device.Name, MAC: h.device.MAC,
			MTU: h.device.MTU}}, nil
	}
	if err != nil {
		return d, err
	}
	if !h.told || !d.State.equal(&h.device.State) {
		h.told = true
		h.device = d
		if h.opts.Changed != nil {
			h.opts.Changed(d.State)
		}
	}
	h.device = d
	return d, nil
}

func (s *State) equal(o *State) bool {
	return s.Name == o.Name && s.Index == o.Index && s.Up == o.Up && s.MAC == o.MAC &&
		s.MTU == o.MTU && slices.Equal(s.Addresses, o.Addresses)
}

// readDevice reads the device and its VLAN devices from the kernel.
func (h *Host) readDevice() (d device, err error) {
	links, err := h.handle.LinkList()
	if err != nil {
		return d, fmt.Errorf("list devices: %w", err)
	}
	main := h.find(links)
	if main == nil {
		return d, fmt.Errorf("%s: %w", h.opts.Device, ErrNoDevice)
	}
	if len(main.Attrs().HardwareAddr) != len(wire.MAC{}) {
		return d, fmt.Errorf("%s: not an Ethernet device", main.Attrs().Name)
	}
	all, err := h.handle.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return d, fmt.Errorf("list addresses: %w", err)
	}
	return describe(main, links, all), nil
}

// describe puts together what lists of all devices and all addresses tell about one device and the
// VLAN devices on it. Of those, only what 802.1Q tags counts, and only one tag.
func describe(main netlink.Link, links []netlink.Link, all []netlink.Addr) device {
	a := main.Attrs()
	d := device{State: State{Name: a.Name, Index: a.Index, MAC: wire.MAC(a.HardwareAddr),
		MTU: a.MTU, Up: a.OperState == netlink.OperUp}, vlans: map[int]uint16{a.Index: 0}}
	names := map[int]string{a.Index: a.Name}
	for _, l := range links {
		v, ok := l.(*netlink.Vlan)
		if ok && v.ParentIndex == a.Index && v.VlanProtocol == netlink.VLAN_PROTOCOL_8021Q {
			d.vlans[v.Index], names[v.Index] = uint16(v.VlanId), v.Name
		}
	}
	for i := range all {
		vlan, ours := d.vlans[all[i].LinkIndex]
		ip, ok := netip.AddrFromSlice(all[i].IP)
		if ours && ok && all[i].Flags&unusable == 0 {
			d.Addresses = append(d.Addresses, Address{IP: ip.Unmap(), VLAN: vlan,
				Device: names[all[i].LinkIndex], Index: all[i].LinkIndex})
		}
	}
	return d
}

// unusable addresses are being checked for duplicates or are one: RFC 4862 5.4.
const unusable = unix.IFA_F_TENTATIVE | unix.IFA_F_DADFAILED

// find is the device in a list: by its number as long as that is there, so that a new name changes
// nothing, else by the name that was asked for.
func (h *Host) find(links []netlink.Link) (main netlink.Link) {
	for _, l := range links {
		switch a := l.Attrs(); {
		case h.told && h.device.Index != 0 && a.Index == h.device.Index:
			return l
		case a.Name == h.opts.Device:
			main = l
		}
	}
	return main
}

// owner is our address of this IP; with several of them on different VLANs, the first.
func (d *device) owner(ip netip.Addr) (Address, bool) {
	i := slices.IndexFunc(d.Addresses, func(a Address) bool { return a.IP == ip })
	if i < 0 {
		return Address{}, false
	}
	return d.Addresses[i], true
}
