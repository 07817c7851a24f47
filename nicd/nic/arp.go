package nic

import (
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// arp is the neighbours that ask for the NIC's MAC address. It answers for the IPv4 address that it
// was made with, if the driver leaves that to it. In a lab a host's kernel would answer at some
// virtual time or other, and in virtual time there is none.
type arp struct {
	asking [maxAsking]wire.Station
	waits  int // of asking, the first
}

// maxAsking is how many neighbours may wait for an answer. A NIC has few routers and peers; one
// that is not answered asks again (RFC 1122 section 2.3.2.1).
const maxAsking = 16

// arpPriority is that of frames without a DSCP.
func (n *NIC) arpPriority() pfc.Priority { return pfc.Priority(n.cfg.Classify.Default) }

// asked notes who asks. RFC 826, "Packet Reception"; the NIC keeps no table of its own to update.
func (n *NIC) asked(f *frame.Frame) frame.Reason {
	b, a := f.Bytes(), &n.arp
	if !wire.AsksFor(b, n.cfg.IPv4) {
		return frame.DropNotRoCE
	}
	if a.waits == maxAsking {
		return frame.DropQueueFull
	}
	request := (*wire.ARP)(b[wire.EthernetLen:])
	a.asking[a.waits] = wire.Station{MAC: request.SenderMAC(), IP: request.SenderIP()}
	a.waits++
	return frame.NoReason
}

// reply builds the answer to who has waited longest, if its priority runs.
func (n *NIC) reply(f *frame.Frame, running pfc.Set) (prio pfc.Priority, ok bool) {
	a := &n.arp
	if prio = n.arpPriority(); a.waits == 0 || !running.Has(prio) {
		return prio, false
	}
	to := a.asking[0]
	a.waits--
	copy(a.asking[:], a.asking[1:])
	own := wire.Station{MAC: n.cfg.MAC, IP: n.cfg.IPv4.As4()}
	b := wire.ARPFrame(wire.ARPReply, to.MAC, own, to)
	if !f.Set(b[:]) {
		panic("nic: a frame has no room for ARP") // New has seen that it has for a packet
	}
	f.Meta.Class.Kind = frame.Other
	return prio, true
}
