package conformance

import (
	"net/netip"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/conform"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire/wiretest"
	"github.com/rocelab/rocelab/nicd/app"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
	"github.com/rocelab/rocelab/switchd"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// lineRate is that of every link.
const lineRate = 40 * unit.GbPerSecond

// device is a kind of device under test. make builds one whose frames come from pool.
type device struct {
	name  string
	ports int
	make  func(t *testing.T, ports int, pool *frame.Pool) (dataplane.Device, target)
}

// devices are all there are. The largest switch is more than one word of a port set wide.
var devices = []device{
	{"relay", 2, newRelay},
	{"switch with 1 port", 1, newSwitch},
	{"switch with 4 ports", 4, newSwitch},
	{"switch with 70 ports", 70, newSwitch},
	{"host", 1, newHost},
	{"host with a slow receiver", 1, newSlowHost},
}

// target is what a peer knows of a host: its queue pair and its memory. The zero value is of a
// device that has none; RoCEv2 packets are then traffic like any other.
type target struct {
	qpn  ib.QPN
	psn  ib.PSN // it sends from here on
	va   uint64
	rkey uint32
}

// The host under test and the peer that the test plays, by their numbers in addresses.
const (
	hostNumber wiretest.MACOrNumber = 1
	peerNumber wiretest.MACOrNumber = 2
	peerQPN    ib.QPN               = 0x22
	peerPSN    ib.PSN               = 1000
)

func address(n wiretest.MACOrNumber) netip.Addr {
	return netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)})
}

func newRelay(*testing.T, int, *frame.Pool) (dataplane.Device, target) {
	return &conform.Relay{}, target{}
}

// newSwitch has the default configuration with a buffer that is soon full, so that pauses, marks
// and drops happen.
func newSwitch(t *testing.T, ports int, pool *frame.Pool) (dataplane.Device, target) {
	t.Helper()
	c := switchd.Default()
	c.Pool.Size = unit.Bytes(ports) * 3 * c.Lossless.XOFF
	for i := range ports {
		name := wiretest.MACOrNumber(i).MAC().String()
		c.Ports = append(c.Ports, daemon.PortConfig{Name: name, Rate: lineRate})
	}
	machine, err := c.Machine()
	if err != nil {
		t.Fatal(err)
	}
	sw, err := pipeline.New(machine, pool)
	if err != nil {
		t.Fatal(err)
	}
	return sw, target{}
}

// newHost writes to a peer that never answers as it should, and listens to it.
func newHost(t *testing.T, _ int, pool *frame.Pool) (dataplane.Device, target) {
	t.Helper()
	return hostWith(t, pool, nic.ReceiveConfig{})
}

// newSlowHost is slow enough that pauses and drops happen.
func newSlowHost(t *testing.T, _ int, pool *frame.Pool) (dataplane.Device, target) {
	t.Helper()
	return hostWith(t, pool, nic.ReceiveConfig{Buffer: 20e3, Lossy: 10e3, XOFF: 10e3, XON: 5e3,
		PacketTime: time.Microsecond, Rate: lineRate,
		MTT: nic.MTTConfig{Entries: 2, PageSize: nic.SmallPage, MissCost: time.Microsecond}})
}

func hostWith(t *testing.T, pool *frame.Pool, receive nic.ReceiveConfig) (dataplane.Device,
	target) {
	t.Helper()
	c := nic.DefaultConfig()
	c.Receive = receive
	c.MAC, c.IPv4, c.Rate, c.Seed = hostNumber.MAC(), address(hostNumber), lineRate, 1
	c.QP.Timeout = 5 // 131 us: retries run out within the test
	c.MaxQPs, c.MaxRegions = 4, 4
	n, err := nic.New(c, pool)
	if err != nil {
		t.Fatal(err)
	}
	const size = 1 << 20
	region, err := n.RegisterMR(size, qp.Access{LocalWrite: true, RemoteWrite: true})
	if err != nil {
		t.Fatal(err)
	}
	local, err := n.CreateQP(n.QPConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Connect(local.QPN, nic.Remote{QPN: peerQPN, PSN: peerPSN,
		IP: address(peerNumber), MAC: peerNumber.MAC()}); err != nil {
		t.Fatal(err)
	}
	h := app.NewHost(n)
	memory := qp.Local{Key: region.Key, VA: region.VA, Length: size / 4}
	if err := h.Listen(0, app.Sink{QPN: local.QPN, Local: memory, Depth: 8}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Start(0, app.Flow{QPN: local.QPN, Op: qp.Write, Depth: 4,
		Local: memory}); err != nil {
		t.Fatal(err)
	}
	return h, target{qpn: local.QPN, psn: local.PSN, va: region.VA, rkey: region.Key}
}
