package xsk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/bpf"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
	"github.com/rocelab/rocelab/roce/ib"
)

// setUp brings a device up without IPv6, of which the kernel would send frames of its own.
func setUp(name string) error {
	path := "/proc/sys/net/ipv6/conf/" + name + "/disable_ipv6"
	if err := os.WriteFile(path, []byte("1"), 0o644); err != nil {
		return err
	}
	dev, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(dev)
}

// newBridged is a pair of sockets with a Linux bridge in between, as where the other end is in a
// virtual machine: x0 - y0 - br0 - y1 - x1. The bridge takes VLAN tags out of frames.
func newBridged(t testing.TB, mtu int) *pair {
	t.Helper()
	o := small
	o.MaxFrame = maxFrame(mtu)
	return newPairBy(t, o, func() error {
		attrs := netlink.NewLinkAttrs()
		attrs.Name, attrs.MTU = "br0", mtu
		snooping := false
		br := &netlink.Bridge{LinkAttrs: attrs, MulticastSnooping: &snooping}
		if err := netlink.LinkAdd(br); err != nil {
			return err
		}
		for i, port := range []string{"y0", "y1"} {
			if err := addVeth(name(i), port, mtu); err != nil {
				return err
			}
			dev, err := netlink.LinkByName(port)
			if err != nil {
				return err
			}
			err = errors.Join(netlink.LinkSetMaster(dev, br), setUp(port))
			if err != nil {
				return err
			}
		}
		return setUp("br0")
	})
}

var dotq = wiretest.Tag{Type: wire.TypeVLAN, PCP: 5, VID: 9}

// TestTheKernelHandsOverWholeFrames: what one end sends by AF_XDP crosses a bridge, whose kernel
// keeps the outer tag of a frame beside it, and arrives at the other as it was sent.
func TestTheKernelHandsOverWholeFrames(t *testing.T) {
	const mtu = 4500
	p := newBridged(t, mtu)
	m := classify.Map{Trust: classify.TrustPCP, Default: 1, PCP: [8]uint8{0, 1, 2, 3, 4, 5, 6, 7}}
	if err := errors.Join(p.progs[0].SetMap(m), p.progs[1].SetMap(m)); err != nil {
		t.Fatal(err)
	}
	pool := frame.NewPool(8, maxFrame(mtu))
	stag := wiretest.Tag{Type: wire.TypeSTag, PCP: 2, VID: 7}
	for what, one := range map[string]wiretest.Packet{
		"untagged":          {},
		"C-TAG":             {Tags: []wiretest.Tag{dotq}},
		"C-TAG, IPv6":       {Tags: []wiretest.Tag{dotq}, V6: true},
		"priority tag":      {Tags: []wiretest.Tag{{Type: wire.TypeVLAN, PCP: 3}}},
		"S-TAG and C-TAG":   {Tags: []wiretest.Tag{stag, dotq}},
		"S-TAG":             {Tags: []wiretest.Tag{stag}},
		"C-TAG and C-TAG":   {Tags: []wiretest.Tag{dotq, dotq}},
		"C-TAG and CN-TAG":  {Tags: []wiretest.Tag{dotq, {Type: wire.TypeCNTag, VID: 9}}},
		"C-TAG, a fragment": {Tags: []wiretest.Tag{dotq}, More: true},
		"C-TAG, TCP":        {Tags: []wiretest.Tag{dotq}, Proto: wire.ProtoTCP},
	} {
		headers := len(one.Bytes())
		for _, size := range []int{headers, headers + 1, 1082, 1792, 3520, 3521, 4178, mtu + 14} {
			one.Src, one.Dst, one.Payload = 1, 2, size-headers
			b := one.Bytes()
			p.send(t, pool, b)
			p.receive(t, pool, func(got []loop.Arrival) bool {
				if len(got) == 0 {
					return false
				}
				f := got[0].Frame
				if len(got) != 1 || !bytes.Equal(f.Bytes(), b) {
					t.Errorf("%s: %d bytes: %d frames of %d bytes arrive\n% x\nsent\n% x", what,
						len(b), len(got), f.Len(), f.Bytes()[:60], b[:min(60, len(b))])
				}
				if want := m.Classify(b); f.Meta.Class != want {
					t.Errorf("%s: %d bytes: %+v, want %+v", what, len(b), f.Meta.Class, want)
				}
				return true
			})
		}
	}
	for i := range p.socks {
		if st := p.socks[i].Stats(); st.Lost() != 0 {
			t.Errorf("%s: %+v", name(i), st)
		}
	}
}

// TestRoCEOfAKernelSocket: the kernel leaves the UDP checksum of what its own sockets send to the
// device, and a veth carries it unfinished. The ICRC does not cover it, so the packet is right.
func TestRoCEOfAKernelSocket(t *testing.T) {
	p := newBridged(t, 1500)
	here, there := net.IPv4(10, 9, 0, 1), net.IPv4(10, 9, 0, 2)
	sent := roce(here, there)
	p.do(t, func() error {
		br, err := netlink.LinkByName("br0")
		if err != nil {
			return err
		}
		mac := net.HardwareAddr{2, 0, 0, 0, 0, 9}
		err = errors.Join(netlink.AddrAdd(br, &netlink.Addr{IPNet: &net.IPNet{IP: here,
			Mask: net.CIDRMask(24, 32)}}), netlink.NeighAdd(&netlink.Neigh{IP: there,
			LinkIndex: br.Attrs().Index, HardwareAddr: mac, State: netlink.NUD_PERMANENT}))
		if err != nil {
			return err
		}
		return sendUDP(here, there, sent[ipHeaders:])
	})
	p.receive(t, frame.NewPool(8, 1792), func(got []loop.Arrival) bool {
		for _, a := range got {
			b := a.Frame.Bytes()
			if a.Frame.Meta.Class.Kind != frame.RoCE4 {
				continue // the kernel's own
			}
			ip := b[wire.EthernetLen:]
			if !bytes.Equal(ip[ipHeaders:], sent[ipHeaders:]) {
				t.Errorf("% x\nsent\n% x", ip[ipHeaders:], sent[ipHeaders:])
			}
			sum := binary.LittleEndian.Uint32(ip[len(ip)-ib.ICRCLen:])
			if got := ib.ICRC(ip[:len(ip)-ib.ICRCLen], wire.IPv4Len); got != sum {
				t.Errorf("ICRC %08x, want %08x", got, sum)
			}
			return true
		}
		return false
	})
}

const ipHeaders = wire.IPv4Len + wire.UDPLen

// roce is a packet of 64 bytes of payload behind a BTH, as an unconnected kernel socket with DF
// sends it: with IP ID 0.
func roce(src, dst net.IP) []byte {
	const n = ipHeaders + ib.BTHLen + 64 + ib.ICRCLen
	b := make([]byte, n)
	copy(b, []byte{0x45, 0, 0, n, 0, 0, 0x40, 0, 64, wire.ProtoUDP, 0, 0})
	copy(b[12:], src.To4())
	copy(b[16:], dst.To4())
	udp := b[wire.IPv4Len:]
	binary.BigEndian.PutUint16(udp, 0xc000)
	binary.BigEndian.PutUint16(udp[2:], wire.PortRoCE)
	udp[5] = n - wire.IPv4Len
	for i := ipHeaders; i < n; i++ {
		b[i] = byte(7 * i)
	}
	binary.LittleEndian.PutUint32(b[n-ib.ICRCLen:], ib.ICRC(b[:n-ib.ICRCLen], wire.IPv4Len))
	return b
}

func sendUDP(src, dst net.IP, payload []byte) error {
	c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: src, Port: 0xc000})
	if err != nil {
		return err
	}
	defer c.Close()
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	err = raw.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_MTU_DISCOVER,
			unix.IP_PMTUDISC_DO)
	})
	if err != nil {
		return err
	}
	_, err = c.WriteToUDP(payload, &net.UDPAddr{IP: dst, Port: int(wire.PortRoCE)})
	return err
}

// TestFramesForTheKernelKeepTheirTag: what a NIC's program leaves to the kernel has its tag there,
// whether it came in the frame or beside it.
func TestFramesForTheKernelKeepTheirTag(t *testing.T) {
	t.Run("in the frame", func(t *testing.T) { passesTagged(t, newPair(t, small)) })
	t.Run("beside the frame", func(t *testing.T) { passesTagged(t, newBridged(t, 1500)) })
}

func passesTagged(t *testing.T, p *pair) {
	p.close(1)
	var fd int
	p.do(t, func() error {
		dev, err := netlink.LinkByName("x1")
		if err != nil {
			return err
		}
		cfg := bpf.PortConfig{Device: dev.Attrs().Index}
		if p.progs[1], err = bpf.LoadNIC(cfg); err != nil {
			return err
		}
		if _, err = p.progs[1].Attach(dev.Attrs().Index); err != nil {
			return err
		}
		fd, err = listen(dev.Attrs().Index)
		return err
	})
	pool := frame.NewPool(1, 1792)
	p.send(t, pool, wiretest.Packet{Src: 1, Dst: 2, DstPort: 53,
		Tags: []wiretest.Tag{dotq}}.Bytes())
	if tci, err := receiveTag(fd); err != nil || tci != 5<<13|9 {
		t.Errorf("tag control information %04x, %v", tci, err)
	}
	unix.Close(fd)
}

// listen opens a socket for every frame that the kernel gets on a device.
func listen(ifindex int) (int, error) {
	all := int(binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL}))
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all)
	if err != nil {
		return 0, err
	}
	timeout := unix.Timeval{Sec: 10}
	return fd, errors.Join(
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: uint16(all), Ifindex: ifindex}),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout))
}

// receiveTag is the tag of the next frame. packet(7), struct tpacket_auxdata.
func receiveTag(fd int) (tci uint16, err error) {
	const at, validAt = 16, 0
	buf, control := make([]byte, 2048), make([]byte, 256)
	_, n, _, _, err := unix.Recvmsg(fd, buf, control, 0)
	if err != nil {
		return 0, err
	}
	all, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil || len(all) != 1 {
		return 0, fmt.Errorf("%d control messages: %w", len(all), err)
	}
	aux := all[0].Data
	if binary.NativeEndian.Uint32(aux[validAt:])&unix.TP_STATUS_VLAN_VALID == 0 {
		return 0, errors.New("untagged")
	}
	return binary.NativeEndian.Uint16(aux[at:]), nil
}

// TestFramesInPartsInGenericMode: a bridge has no XDP of its own, so the program runs on packet
// buffers; frames of every length arrive there as well.
func TestFramesInPartsInGenericMode(t *testing.T) {
	const mtu = 4500
	p := newBridged(t, mtu)
	p.close(1)
	o := small
	o.MaxFrame = maxFrame(mtu)
	p.do(t, func() error {
		br, err := netlink.LinkByName("br0")
		if err != nil {
			return err
		}
		at := br.Attrs()
		if p.progs[1], err = bpf.LoadSwitch(bpf.PortConfig{Frags: true}); err != nil {
			return err
		}
		if p.socks[1], err = Open(at.Index, p.progs[1].XSKMap(), o); err != nil {
			return err
		}
		mode, err := p.progs[1].Attach(at.Index)
		if err == nil && mode != bpf.Generic {
			t.Errorf("mode %s", mode)
		}
		return err
	})
	pool := frame.NewPool(8, o.MaxFrame)
	broadcast := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	rng := rand.New(rand.NewPCG(6, 6))
	for _, n := range []int{60, 1792, 1793, 3520, 3521, 3600, 4096, 4178, mtu + wire.EthernetLen} {
		b := random(rng, n)
		copy(b, broadcast)
		p.send(t, pool, b)
		p.receive(t, pool, func(got []loop.Arrival) bool {
			if len(got) > 0 && !bytes.Equal(got[0].Frame.Bytes(), b) {
				t.Errorf("%d bytes arrive of %d", got[0].Frame.Len(), n)
			}
			return len(got) > 0
		})
	}
}
