package nic

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/cm"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// gsi is QP1, the general service interface: the connection manager and its datagrams.
type gsi struct {
	*cm.Manager
	psn ib.PSN
}

// newGSI makes QP1. Its generator is one of its own: ids cost the generator of keys no number.
func newGSI(cfg *Config) (gsi, error) {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], cfg.Seed)
	seed[len(seed)-1] = 1
	c := cfg.CM
	c.Random, c.GUID, c.MTU = rand.NewChaCha8(seed), guidOf(cfg.MAC), cfg.QP.MTU
	m, err := cm.New(c)
	return gsi{Manager: m}, err
}

// guidOf is the GUID of a MAC: an EUI-64, as rxe makes it.
func guidOf(mac wire.MAC) uint64 {
	const local = 1 << 1
	return binary.BigEndian.Uint64([]byte{mac[0] ^ local, mac[1], mac[2], 0xff, 0xfe, mac[3],
		mac[4], mac[5]})
}

// CM is the connection manager, to be asked. Whoever calls what changes it does so by Communicate.
func (n *NIC) CM() *cm.Manager { return n.gsi.Manager }

// Communicate calls the connection manager and sees to what follows.
func (n *NIC) Communicate(now unit.Time, fn func(*cm.Manager)) {
	n.now = now
	fn(n.gsi.Manager)
	n.settleGSI()
	n.kick()
}

func (n *NIC) settleGSI() { n.wheel.Set(gsiTimer, n.gsi.NextWake()) }

// ConnectCM asks a peer to connect an RC QP in INIT: r.QP.QPN. The other facts about the QP that
// a REQ tells, but for its READs and atomics and its RNR retries, are the NIC's to say.
func (n *NIC) ConnectCM(now unit.Time, r cm.Request) (id cm.ID, err error) {
	c, err := n.reliable(r.QP.QPN)
	if err != nil {
		return 0, fmt.Errorf("connect %w", err)
	}
	if err := c.unconnected(); err != nil {
		return 0, fmt.Errorf("connect %w", err)
	}
	if err := n.complete(&r.Path, &r.From); err != nil {
		return 0, fmt.Errorf("connect QP %v to %v: %w", c.qpn, r.Path.Dest, err)
	}
	n.describe(c, &r.QP)
	r.MTU, r.PKey = c.qp.Config().MTU, c.qp.Config().PKey
	n.Communicate(now, func(m *cm.Manager) { id, err = m.Connect(now, r) })
	c.connection = id
	return id, err
}

// complete fills in our address, if a path has none, also where the header of the RDMA connection
// manager will name it, and the VLAN that the address is on.
func (n *NIC) complete(p *cm.Path, from *netip.AddrPort) error {
	ends, err := n.endpoints(p.Dest, p.Source, p.MAC, p.VLAN)
	if err != nil {
		return err
	}
	p.Source, p.VLAN = ends.Source, ends.VLAN
	if from.Port() != 0 {
		*from = netip.AddrPortFrom(p.Source, from.Port())
	}
	return nil
}

// ResolveCM asks a peer for the QP of a datagram service.
func (n *NIC) ResolveCM(now unit.Time, l cm.Lookup) (id cm.ID, err error) {
	if err := n.complete(&l.Path, &l.From); err != nil {
		return 0, fmt.Errorf("resolve %v at %v: %w", l.Service, l.Path.Dest, err)
	}
	l.PKey = n.cfg.QP.PKey
	n.Communicate(now, func(m *cm.Manager) { id, err = m.Resolve(now, l) })
	return id, err
}

// unconnected says what is wrong with a QP that is to be connected.
func (c *conn) unconnected() error {
	if s := c.qp.State(); s != qp.StateInit {
		return fmt.Errorf("QP %v: %w: %v", c.qpn, qp.ErrState, s)
	}
	return nil
}

// describe fills in what the NIC knows of a QP. The peer sends from the PSN that we tell.
func (n *NIC) describe(c *conn, q *cm.QP) {
	q.PSN, q.SRQ, q.FlowControl = c.psn, c.srq != nil, c.qp.Config().Credits
}

// AcceptCM answers a request for a connection with an RC QP in INIT: r.QP.QPN. The QP runs before
// the peer hears of it.
func (n *NIC) AcceptCM(now unit.Time, id cm.ID, r cm.Reply) error {
	c, err := n.reliable(r.QP.QPN)
	if err == nil {
		err = c.unconnected()
	}
	if err != nil {
		return fmt.Errorf("accept %w", err)
	}
	n.describe(c, &r.QP)
	a, err := n.gsi.Offer(id, r.QP)
	if err != nil {
		return err
	}
	if err := n.start(a); err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	n.Communicate(now, func(m *cm.Manager) { err = m.Accept(now, id, r) })
	if err == nil {
		c.connection, c.greeting = id, true
	}
	return err
}

// ConfirmCM starts the QP of a connection that a peer has accepted, and tells the peer.
func (n *NIC) ConfirmCM(now unit.Time, id cm.ID, private []byte) error {
	a, ok := n.gsi.Attributes(id)
	if !ok {
		return fmt.Errorf("confirm: %w", cm.ErrNoConnection)
	}
	if err := n.start(a); err != nil {
		return fmt.Errorf("confirm: %w", err)
	}
	var err error
	n.Communicate(now, func(m *cm.Manager) { err = m.Confirm(now, id, private) })
	return err
}

// start takes a QP to RTS with what both ends have agreed.
func (n *NIC) start(a cm.Attributes) error {
	c, err := n.reliable(a.Local)
	if err != nil {
		return err
	}
	cfg := c.qp.Config()
	in := cfg.ReceiveAttributes()
	in.MTU, in.Resources = a.MTU, int(a.Resources)
	r := Remote{QPN: a.Remote, PSN: a.ReceivePSN, IP: a.Path.Dest, MAC: a.Path.MAC,
		VLAN: a.Path.VLAN, Source: a.Path.Source}
	if err := n.ReadyToReceive(a.Local, r, in); err != nil {
		return err
	}
	return n.ReadyToSend(a.Local, qp.SendAttributes{PSN: a.SendPSN, Timeout: a.Timeout,
		RetryCount: a.Retry, RNRRetry: a.RNRRetry, ReadDepth: int(a.Depth)})
}

// FailCM takes the QP of a connection to ERR, if it still exists.
func (n *NIC) FailCM(now unit.Time, id cm.ID) {
	a, ok := n.gsi.Attributes(id)
	if !ok {
		return
	}
	if c := n.conn(a.Local); c != nil && c.connection == id {
		c.greeting = false
		if err := n.Fail(now, a.Local); err != nil {
			panic(fmt.Sprintf("nic: %v", err)) // it is there
		}
	}
}

// DisconnectCM ends a connection: its QP goes to ERR, and the peer is told.
func (n *NIC) DisconnectCM(now unit.Time, id cm.ID, private []byte) error {
	n.FailCM(now, id)
	var err error
	n.Communicate(now, func(m *cm.Manager) { err = m.Disconnect(now, id, private) })
	return err
}

// communicating tells the connection manager that a QP's first packet came: it may be here before
// the RTU. IBTA calls it "communication established".
func (n *NIC) communicating(c *conn) {
	c.greeting = false
	n.gsi.Communicating(c.connection)
	n.settleGSI()
}

// hangUp ends the connection of a QP that is destroyed.
func (n *NIC) hangUp(c *conn) {
	if c.connection != 0 {
		n.Communicate(n.now, func(m *cm.Manager) { m.Close(n.now, c.connection) })
	}
}

// general takes a datagram for QP1.
func (n *NIC) general(now unit.Time, f *frame.Frame, p *ib.Packet) frame.Reason {
	f.Meta.Flow = uint32(ib.QP1)
	switch {
	case p.BTH.Opcode() != ib.UDSendOnly:
		return frame.DropUnexpected
	case !ib.SamePartition(p.BTH.PKey(), n.cfg.QP.PKey):
		n.transport.BadPKey++
		return frame.DropUnexpected
	case p.DETH.QKey() != ib.GSIQKey:
		n.transport.BadQKey++
		return frame.DropUnexpected
	}
	why := n.gsi.Receive(now, wayBack(f), p.Payload)
	n.settleGSI()
	return why
}

// wayBack is how to answer a frame: by who brought it.
func wayBack(f *frame.Frame) cm.Path {
	b, class := f.Bytes(), &f.Meta.Class
	source, dest := addresses(b, class)
	p := cm.Path{Source: dest, Dest: source, MAC: wire.MAC(b[6:12])}
	if int(class.L3Off) == wire.EthernetLen+wire.TagLen {
		tag := (*wire.Tag)(b[wire.EthernetLen:])
		p.VLAN = ib.VLAN{ID: tag.VID(), Priority: tag.PCP(), Tagged: true}
	}
	return p
}

// manage builds the next datagram of QP1 if there is one and its priority runs. The connection
// manager's messages are control: they go like acknowledgements.
func (n *NIC) manage(f *frame.Frame, running pfc.Set) (prio pfc.Priority, ok bool) {
	prio = n.priority(n.cfg.DSCP.Ack)
	if !n.gsi.Pending() || !running.Has(prio) {
		return prio, false
	}
	var mad ib.MAD
	p, _ := n.gsi.Next(&mad)
	h := ib.NewHeaders(ib.Endpoints{SourceMAC: n.cfg.MAC, DestMAC: p.MAC, VLAN: p.VLAN,
		Source: p.Source, Dest: p.Dest, SourcePort: ib.SourcePort(ib.QP1, ib.QP1),
		DestQP: ib.QP1, PKey: n.cfg.QP.PKey})
	o := ib.Outgoing{Opcode: ib.UDSendOnly, PSN: n.gsi.psn, Payload: mad[:],
		UD: ib.Datagram{QKey: ib.GSIQKey, SourceQP: ib.QP1}}
	n.gsi.psn = n.gsi.psn.Add(1)
	n.stamp(&o, tos(n.cfg.DSCP.Ack, frame.NotECT))
	f.Resize(h.Size(&o))
	h.Build(f.Bytes(), &o)
	n.tag(f.Bytes(), o.TOS)
	f.Meta.Flow = uint32(ib.QP1)
	return prio, true
}
