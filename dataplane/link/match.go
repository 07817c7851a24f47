package link

import (
	"errors"
	"fmt"

	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/ib"
)

// Match chooses frames by their headers. All that is set must hold; the zero value takes every
// frame.
type Match struct {
	IPID  Masked // identification of an IPv4 header
	DSCP  uint64 // set of codepoints: bit n is DSCP n
	Kinds uint16 // set of frame.Kind: bit n is kind n
	QP    ib.QPN // destination QP of a RoCEv2 packet; 0: any
	PSN   PSNs   // of a RoCEv2 packet
	Verbs uint16 // set of ib.Verb of a RoCEv2 packet: bit n is verb n
}

// Masked compares some bits of a number: those of Mask with those of Value. The zero value takes
// every number. [RDMA at scale] 4.1 drops where the low byte of the IP ID is 0xff, which is
// {0xff, 0xff}: of sequential IDs one in 256.
type Masked struct{ Value, Mask uint16 }

// PSNs is the Count packet sequence numbers from First on, across the wrap; the zero value takes
// every one.
type PSNs struct {
	First ib.PSN
	Count uint32
}

// Validate returns why the match can never hold.
func (m *Match) Validate() error {
	switch {
	case m.IPID.Value&^m.IPID.Mask != 0:
		return fmt.Errorf("IP ID %#x has bits outside of its mask %#x", m.IPID.Value, m.IPID.Mask)
	case m.QP > ib.MaxQPN:
		return fmt.Errorf("QP %#x: at most %#x", uint32(m.QP), uint32(ib.MaxQPN))
	case m.PSN.First != ib.MakePSN(uint32(m.PSN.First)) || m.PSN.Count > 1<<24:
		return errors.New("a PSN has 24 bits")
	}
	return nil
}

// headers is what a match asks of a frame; looked up once for all rules.
type headers struct {
	frame.Class
	ipID uint16
	bth  *ib.BTH // of a RoCEv2 packet
}

func look(f *frame.Frame) headers {
	h, b := headers{Class: (&classify.Map{}).Frame(f)}, f.Head()
	if h.Kind == frame.IPv4 || h.Kind == frame.RoCE4 {
		if ip, ok := wire.AsIPv4(b[h.L3Off:]); ok {
			h.ipID = ip.ID()
		}
	}
	if at := int(h.L4Off) + wire.UDPLen; h.Kind.IsRoCE() && len(b) >= at+ib.BTHLen {
		h.bth = (*ib.BTH)(b[at:])
	}
	return h
}

// onIP reports whether the frame has an IP header that says what it says.
func (h *headers) onIP() bool {
	return h.Kind.IsRoCE() || h.Kind == frame.IPv4 || h.Kind == frame.IPv6
}

func (m *Match) takes(h *headers) bool {
	if m.Kinds != 0 && m.Kinds&(1<<h.Kind) == 0 {
		return false
	}
	if m.DSCP != 0 && (!h.onIP() || m.DSCP&(1<<h.DSCP) == 0) {
		return false
	}
	if m.IPID.Mask != 0 && ((h.Kind != frame.IPv4 && h.Kind != frame.RoCE4) ||
		h.ipID&m.IPID.Mask != m.IPID.Value) {
		return false
	}
	if m.QP == 0 && m.PSN.Count == 0 && m.Verbs == 0 {
		return true
	}
	if h.bth == nil {
		return false
	}
	if m.QP != 0 && m.QP != h.bth.DestQP() {
		return false
	}
	if m.PSN.Count != 0 && uint32(ib.MakePSN(uint32(h.bth.PSN()-m.PSN.First))) >= m.PSN.Count {
		return false
	}
	return m.Verbs == 0 || m.Verbs&(1<<h.bth.Opcode().Info().Verb) != 0
}
