package app

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// ProbeLen is the payload of a probe in bytes: [RDMA at scale] 5.3.
const ProbeLen = 512

// MaxProbed bounds the peers of a pingmesh, and with them its metrics.
const MaxProbed = 1024

// Pingmesh is the RDMA pingmesh of [RDMA at scale] 5.3: every host probes every other one, and logs
// the round trip time, or an error code. A probe is a datagram of the priority of RDMA data. The
// peer's own pingmesh answers it at once with the same bytes.
type Pingmesh struct {
	Interval time.Duration // between two probes to one peer
	Timeout  time.Duration // a probe without an answer has failed then; at most Interval
	Phase    time.Duration // of the first probe, so that not all hosts probe at once
	Peers    []ProbedPeer
}

// ProbedPeer is a host to be probed.
type ProbedPeer struct {
	Name string // for whoever looks at it
	Path nic.Path
}

// ProbeCode is how a probe ended.
type ProbeCode uint8

// The codes.
const (
	ProbeOK        ProbeCode = iota
	ProbeTimeout             // no answer in time
	ProbeLinkDown            // our own link was down
	ProbeSendError           // the probe could not be sent: too many are waiting, or the QP failed
	ProbeCodes
)

var probeCodes = [...]string{"ok", "timeout", "link_down", "send_error"}

func (c ProbeCode) String() string { return probeCodes[c] }

// ProbeStats is what came of the probes to one peer.
type ProbeStats struct {
	Peer  string
	Ended [ProbeCodes]uint64 // by code
	Last  ProbeCode          // of the latest that has ended
	RTT   Histogram          // of those with an answer
}

// ErrPingmesh is the family of errors about a pingmesh that cannot be.
var ErrPingmesh = errors.New("pingmesh")

// pingmesh probes the peers in turn: probe k goes to peer k mod n. So deadlines come in the order
// of the probes, and one pointer finds the next.
type pingmesh struct {
	Pingmesh
	host *Host
	qpn  ib.QPN
	mr   *qp.Region
	down bool

	peers    []probed
	byIP     map[netip.Addr]nic.AH
	next     unit.Time // of the next probe
	sent     uint64    // probes
	due      uint64    // number of the oldest that may be without an answer
	posted   uint64    // datagrams, probes and answers
	finished uint64    // of them
	refused  uint64    // probes from hosts that are no peers
}

// probed is a peer at work.
type probed struct {
	ProbeStats
	ah      nic.AH
	waiting bool
	number  uint64 // of the latest probe
	at      unit.Time
}

// Slots for datagrams under way: as many receives, and as many to be sent.
const (
	probeSlots  = 256
	receiveSlot = qp.GRHLen + ProbeLen
)

// probeQKey is that of the pingmesh's QPs. Our choice; it is not a privileged one.
const probeQKey = 0x0050494e

// A probe begins with these; the rest is zero.
const (
	atMagic  = 0
	atKind   = 4
	atNumber = 8
	magic    = 0x726c706d // "rlpm"
	isProbe  = 1
	isAnswer = 2
)

// Probe begins a pingmesh. It must be called before any QP is created, because the peers count on
// its number.
func (h *Host) Probe(now unit.Time, m Pingmesh) error {
	if len(m.Peers) == 0 || len(m.Peers) > MaxProbed || m.Interval <= 0 || m.Timeout <= 0 ||
		m.Timeout > m.Interval {
		return fmt.Errorf("%w: %d peers, interval %v, timeout %v", ErrPingmesh, len(m.Peers),
			m.Interval, m.Timeout)
	}
	p := &pingmesh{Pingmesh: m, host: h, peers: make([]probed, len(m.Peers)),
		byIP: make(map[netip.Addr]nic.AH), next: now.Add(m.Interval + m.Phase)}
	local, err := h.nic.CreateUD(qp.UDConfig{PD: nic.DefaultPD, MTU: ProbeLen,
		SendQueue: probeSlots, ReceiveQueue: probeSlots, QKey: probeQKey}, nic.Service{})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPingmesh, err)
	}
	if local.QPN != nic.FirstQPN {
		return fmt.Errorf("%w: QP %v: the first is taken", ErrPingmesh, local.QPN)
	}
	p.qpn = local.QPN
	p.mr, err = h.nic.RegisterMR(probeSlots*(receiveSlot+ProbeLen), qp.Access{LocalWrite: true})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPingmesh, err)
	}
	for i, peer := range m.Peers {
		ah, err := h.nic.CreateAH(nic.DefaultPD, peer.Path)
		if err != nil {
			return fmt.Errorf("%w: peer %s: %w", ErrPingmesh, peer.Name, err)
		}
		p.peers[i] = probed{ProbeStats: ProbeStats{Peer: peer.Name}, ah: ah}
		p.byIP[peer.Path.IP] = ah
	}
	for slot := range uint64(probeSlots) {
		p.receive(now, slot)
	}
	h.mesh = p
	h.Own(p.qpn, p)
	return nil
}

// Probes shows what came of the probes so far, peer by peer, and returns how many probes of other
// hosts were refused because those are no peers. Without a pingmesh it shows nothing.
func (h *Host) Probes(see func(*ProbeStats)) (refused uint64) {
	if h.mesh == nil {
		return 0
	}
	for i := range h.mesh.peers {
		see(&h.mesh.peers[i].ProbeStats)
	}
	return h.mesh.refused
}

// nextWake is that of the next probe, or the end of the wait for one.
func (p *pingmesh) nextWake() unit.Time {
	if p == nil {
		return unit.Never
	}
	at := p.next
	if p.skip(); p.due < p.sent {
		at = min(at, p.probe(p.due).at.Add(p.Timeout))
	}
	return at
}

// probe is the peer that a probe went to.
func (p *pingmesh) probe(number uint64) *probed { return &p.peers[number%uint64(len(p.peers))] }

// skip moves due on to the oldest probe that waits for its answer.
func (p *pingmesh) skip() {
	for p.due < p.sent {
		if o := p.probe(p.due); o.waiting && o.number == p.due {
			return
		}
		p.due++
	}
}

// wake ends what waited too long, and sends the probes whose time has come.
func (p *pingmesh) wake(now unit.Time) {
	for p.skip(); p.due < p.sent; p.skip() {
		o := p.probe(p.due)
		if o.at.Add(p.Timeout) > now {
			break
		}
		o.end(ProbeTimeout)
	}
	for p.next <= now {
		p.send(now, p.probe(p.sent))
		p.sent++
		p.next = p.next.Add(max(p.Interval/time.Duration(len(p.peers)), 1))
	}
}

func (o *probed) end(code ProbeCode) {
	o.waiting, o.Last = false, code
	o.Ended[code]++
}

// send is probe p.sent, to o.
func (p *pingmesh) send(now unit.Time, o *probed) {
	if o.waiting { // we were called late
		o.end(ProbeTimeout)
	}
	o.number, o.at = p.sent, now
	switch {
	case p.down:
		o.end(ProbeLinkDown)
	case !p.post(now, o.ah, isProbe, p.sent):
		o.end(ProbeSendError)
	default:
		o.waiting = true
	}
}

// post sends a datagram.
func (p *pingmesh) post(now unit.Time, to nic.AH, kind uint32, number uint64) bool {
	if p.posted-p.finished == probeSlots {
		return false
	}
	at := probeSlots*receiveSlot + int(p.posted%probeSlots)*ProbeLen
	b := p.mr.Bytes[at:][:ProbeLen]
	binary.BigEndian.PutUint32(b[atMagic:], magic)
	binary.BigEndian.PutUint32(b[atKind:], kind)
	binary.BigEndian.PutUint64(b[atNumber:], number)
	err := p.host.nic.PostUD(now, p.qpn, qp.UDWR{ID: p.posted,
		Local: qp.Local{Key: p.mr.Key, VA: p.mr.VA + uint64(at), Length: ProbeLen},
		To:    qp.Address{Handle: uint32(to), QPN: nic.FirstQPN, QKey: probeQKey}})
	if err != nil {
		return false
	}
	p.posted++
	return true
}

// receive posts the buffer of a slot.
func (p *pingmesh) receive(now unit.Time, slot uint64) {
	// The queue has a place for every slot.
	_ = p.host.nic.PostReceive(now, p.qpn, qp.ReceiveWR{ID: slot, Local: qp.Local{Key: p.mr.Key,
		VA: p.mr.VA + slot*receiveSlot, Length: receiveSlot}})
}

// Completed takes a datagram that came, or the place of one that left.
func (p *pingmesh) Completed(now unit.Time, c *qp.Completion) {
	if c.Op != qp.Receive {
		p.finished++
		return
	}
	if c.Status != qp.Success {
		return
	}
	b := p.mr.Bytes[c.ID*receiveSlot:][:c.Bytes]
	if c.Bytes == receiveSlot && binary.BigEndian.Uint32(b[qp.GRHLen+atMagic:]) == magic {
		p.datagram(now, b[:qp.GRHLen], b[qp.GRHLen:])
	}
	p.receive(now, c.ID)
}

func (p *pingmesh) datagram(now unit.Time, network, b []byte) {
	number := binary.BigEndian.Uint64(b[atNumber:])
	switch binary.BigEndian.Uint32(b[atKind:]) {
	case isProbe:
		to, known := p.byIP[sourceOf(network)]
		if !known {
			p.refused++
			return
		}
		p.post(now, to, isAnswer, number) // the prober finds out if it cannot be sent
	case isAnswer:
		o := p.probe(number)
		if o.waiting && o.number == number {
			o.RTT.Add(now.Sub(o.at))
			o.end(ProbeOK)
		}
	}
}

// sourceOf reads the network header in front of a datagram: IPv6, or 20 bytes and IPv4. A17.4.
func sourceOf(h []byte) netip.Addr {
	if h[0]>>4 == 6 {
		return netip.AddrFrom16([16]byte(h[8:24]))
	}
	return netip.AddrFrom4([4]byte(h[32:36]))
}
