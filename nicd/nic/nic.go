package nic

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/ratelimit"
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/roce/qp"
)

// Port is the number of the NIC's only port.
const Port dataplane.PortID = 0

// FirstQPN is the number of the QP that is created first: 0 and 1 are reserved, rxe starts at 17.
const FirstQPN ib.QPN = 0x11

// NIC is a dataplane.Device of one port. Make it with New.
type NIC struct {
	cfg    Config
	pool   *frame.Pool
	random *rand.ChaCha8
	ready  dataplane.PortSet
	up     bool
	now    unit.Time // of the last call, for operations that are not events

	memory   *qp.Memory
	gids     []Address // by index of the GID table; the zero value is free
	pds      domains
	ahs      []*address // by handle; nil is free
	freeAHs  []AH
	conns    []*conn // by slot; nil is free
	byRemote map[farEnd]*conn
	free     slots
	wheel    *ratelimit.Wheel
	pacer    *ratelimit.Pacer

	pause     pfc.Receiver  // of what we send
	asking    pfc.Generator // for pauses of what we receive
	receiving pipeline
	watchdog  watchdog // of our pauses
	notify    func(PauseEvent)

	incasts   map[cc.CNPRule]*cc.Incast // flows congested on their way here
	notifier  notifier
	delayed   list          // QPs whose CNP is not due yet
	cnps      list          // QPs that owe a CNP
	feedbacks acknowledgers // QPs that owe congestion feedback
	acks      acknowledgers // QPs that owe an ACK or NAK
	completed list          // QPs with completions to poll
	failed    list          // QPs that went to ERR, to be told of
	astray    list          // QPs whose path has changed, to be told of
	low       []*SRQ        // queues below their limit, to be told of
	packetID  uint16
	gsi       gsi
	arp       arp

	ledger    dataplane.Ledger
	counters  Counters
	transport qp.Counters
	traffic   [8]PriorityTraffic
}

var _ dataplane.Device = (*NIC)(nil)

// New makes a NIC whose frames come from pool. The pool's frames must hold a full packet.
func New(cfg Config, pool *frame.Pool) (*NIC, error) {
	if err := errors.Join(cfg.Validate()...); err != nil {
		return nil, fmt.Errorf("NIC configuration: %w", err)
	}
	if need := cfg.QP.MTU + ib.MaxOverhead; pool.Size() < need {
		return nil, fmt.Errorf("NIC: frames of %d bytes, a path MTU of %d needs %d", pool.Size(),
			cfg.QP.MTU, need)
	}
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], cfg.Seed)
	n := &NIC{cfg: cfg, pool: pool, random: rand.NewChaCha8(seed), up: true,
		byRemote: make(map[farEnd]*conn),
		incasts:  make(map[cc.CNPRule]*cc.Incast),
		notifier: newNotifier(cfg.CNP, cfg.MaxQPs),
		conns:    make([]*conn, cfg.MaxQPs), free: newSlots(cfg.MaxQPs),
		pause:     pfc.NewReceiver(pfc.ReceiverConfig{Rate: cfg.Rate, Obeyed: cfg.PFC}),
		asking:    pfc.NewGenerator(cfg.asking()),
		receiving: pipeline{cfg: cfg.Receive, mtt: newMTT(cfg.Receive.MTT.Entries)}}
	for _, ip := range []netip.Addr{cfg.IPv6, cfg.IPv4} {
		if ip.IsValid() {
			n.gids = append(n.gids, Address{IP: ip, VLAN: cfg.VLAN})
		}
	}
	var err error
	if n.gsi, err = newGSI(&cfg); err != nil {
		return nil, fmt.Errorf("NIC: %w", err)
	}
	n.pds = newDomains()
	n.acks.as, n.feedbacks.as = inAcks, inFeedback
	n.memory = qp.NewMemory(n.random, cfg.MaxRegions)
	n.wheel = ratelimit.NewWheel(int(ownTimers))
	n.pacer = ratelimit.NewPacer(n.wheel)
	n.watchdog = newWatchdog(cfg.Receive.Watchdog, cfg.PFC)
	n.wheel.Set(watchdogTimer, n.watchdog.NextWake())
	return n, nil
}

// Up reports whether the link is up.
func (n *NIC) Up() bool { return n.up }

// Config is what the NIC was made with, but for the MAC address, which SetMAC changes.
func (n *NIC) Config() Config { return n.cfg }

// Ready has the port if there is something to send.
func (n *NIC) Ready() *dataplane.PortSet { return &n.ready }

// Ledger is the account of every frame. Buffered are those that wait for the receive pipeline.
func (n *NIC) Ledger() dataplane.Ledger { return n.ledger }

// SetLink tells that the link went up or down. What the other end had paused runs again: a link
// that comes back starts with no pause, on both sides. What waits for the receive pipeline stays,
// because it has arrived.
func (n *NIC) SetLink(now unit.Time, _ dataplane.PortID, up bool) {
	n.now, n.up = now, up
	if !up {
		n.pause.Reset(now)
		n.asking.Reset(now)
		n.arp.waits = 0
		n.wheel.Cancel(pauseTimer)
		n.wheel.Cancel(askTimer)
	}
	n.kick()
}

// kick puts the port into Ready if the NIC has something that may be sent.
func (n *NIC) kick() {
	if !n.up {
		return
	}
	running := ^n.pause.Paused(n.now)
	if n.asking.Pending(n.now) || uint8(running)&n.pacer.Ready() != 0 ||
		n.cnpReady() && running.Has(n.priority(n.cfg.DSCP.CNP)) ||
		(n.acks.mask|n.feedbacks.mask)&running != 0 ||
		n.gsi.Pending() && running.Has(n.priority(n.cfg.DSCP.Ack)) ||
		n.arp.waits > 0 && running.Has(n.arpPriority()) {
		n.ready.Add(Port)
	}
}

// priority of a codepoint, by the same map that judges what arrives.
func (n *NIC) priority(dscp uint8) pfc.Priority { return pfc.Priority(n.cfg.Classify.DSCP[dscp]) }
