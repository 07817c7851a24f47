package check

import (
	"fmt"
	"math/bits"

	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/pfc"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/mmu"
	"github.com/rocelab/rocelab/switchd/pipeline"
	"github.com/rocelab/rocelab/switchd/thresholds"
)

// The checks of classes: is what should be lossless lossless all the way, and marked before it is
// paused?

// reached reports whether any frame gets into a class.
func reached(p *pipeline.Port, tc uint8) bool {
	m := &p.Classify
	codes := m.DSCP[:]
	if m.Trust == classify.TrustPCP {
		codes = m.PCP[:]
	}
	for _, to := range codes {
		if to == tc {
			return true
		}
	}
	return m.Default == tc
}

// together finds two classes, one lossless and one not, that something is reached by both.
func together(p *pipeline.Port, to func(tc uint8) int) (of int, a, b uint8, found bool) {
	for a := range uint8(classify.Classes) {
		for b := range uint8(classify.Classes) {
			if to(a) == to(b) && p.PFCSend.Has(pfc.Priority(a)) &&
				!p.PFCSend.Has(pfc.Priority(b)) && reached(p, a) && reached(p, b) {
				return to(a), a, b, true
			}
		}
	}
	return 0, 0, 0, false
}

func sharedGroup(f *Fabric, w *warnings) {
	f.each(func(s *Switch, _ int, p *pipeline.Port) {
		g, a, b, found := together(p, func(tc uint8) int { return int(p.Map.Group[tc]) })
		w.unless(!found, s.place(p, "group", g), "lossless class %d and lossy class %d: the lossy "+
			"one fills the headroom, and no PFC frame stops it", a, b)
	})
}

func sharedQueue(f *Fabric, w *warnings) {
	f.each(func(s *Switch, _ int, p *pipeline.Port) {
		q, a, b, found := together(p, func(tc uint8) int { return int(p.Map.Queue[tc]) })
		w.unless(!found, s.place(p, "queue", q), "lossless class %d and lossy class %d: a pause "+
			"of one holds the other", a, b)
	})
}

// pfcGroup finds priorities that are paused without headroom, and headroom that pauses nobody.
func pfcGroup(f *Fabric, w *warnings) {
	f.each(func(s *Switch, _ int, p *pipeline.Port) {
		paused := lossless(p)
		for n := range pfc.Priority(8) {
			g := groupOf(p, n)
			w.unless(!p.PFCSend.Has(n) || p.Groups[g].Lossless, s.place(p, "priority", int(n)),
				"in pfc_enable, but group %d has no headroom (xoff): it drops", g)
		}
		for g := range mmu.Groups {
			_, ok := paused[g]
			w.unless(ok || !p.Groups[g].Lossless, s.place(p, "group", g),
				"has headroom %d, but no priority of it is in pfc_enable: it drops when full",
				p.Groups[g].Headroom)
		}
	})
}

// roceDSCP finds SONiC's default map, which has RoCE's usual code point in a lossy class.
func roceDSCP(f *Fabric, w *warnings) {
	const roce = 26 // ToS 106 is DSCP 26 with ECT(0)
	f.each(func(s *Switch, _ int, p *pipeline.Port) {
		tc := p.Classify.DSCP[roce]
		w.unless(p.PFCSend == 0 || p.Classify.Trust != classify.TrustDSCP || isLossless(p, tc),
			s.Name+":"+p.Name, "DSCP %d goes to class %d, which is lossy; lossless are %v", roce,
			tc, p.PFCSend)
	})
}

// marks finds lossless queues that pause without ever marking.
func marks(f *Fabric, w *warnings) {
	f.each(func(s *Switch, _ int, p *pipeline.Port) {
		for _, q := range losslessQueues(p) {
			mark, at := p.Queues[q].WRED.Mark, s.place(p, "queue", q)
			w.unless(mark.Pmax > 0 || mark.Kmax > 0, at, "lossless, and never marks (ecn_none or "+
				"no wred_profile): PFC is all that slows a sender")
			most := s.mostLossless(p)
			w.unless(mark.Kmin < most || mark.Kmin == 0, at,
				"minimum threshold %d >= %d that can be stored: never marks", mark.Kmin, most)
		}
	})
}

// ecnBeforePFC is the inequality of [DCQCN] section 4: with every queue of every lossless priority
// just below t_ECN, and what is in them of one port, no ingress group may have reached its limit.
func ecnBeforePFC(f *Fabric, w *warnings) {
	f.groups(func(s *Switch, _ int, p *pipeline.Port, g int) {
		profile := &p.Groups[g]
		if profile.Pool >= len(s.Machine.Pools) {
			return // told by machine
		}
		ecn, queue := s.latestMark(p, g)
		if ecn == 0 {
			return // told by marks
		}
		n, priorities := len(s.Machine.Ports), bits.OnesCount8(uint8(p.PFCSend))
		shared := s.shared(profile.Pool)
		at := s.place(p, "group", g)
		if profile.Limit.Den == 0 {
			w.unless(float64(profile.Limit.Static) > float64(n)*float64(ecn), at,
				"t_PFC %d <= n t_ECN = %d x %d (queue %d): it may pause before it marks",
				profile.Limit.Static, n, ecn, queue)
			return
		}
		// The section's B - 8 n t_flight is what is shared.
		paper := thresholds.Section4{Buffer: shared, Ports: n, Priorities: priorities,
			Beta: 8 * float64(profile.Limit.Num) / float64(profile.Limit.Den)}
		bound := paper.DynamicECN()
		w.unless(float64(ecn) < bound, at, "t_ECN %d (queue %d) >= beta left / (n (P beta + 8)) = "+
			"%.0f, with beta %.4g, left %d, n %d, P %d: it may pause before it marks", ecn, queue,
			bound, paper.Beta, shared, n, priorities)
	})
}

// latestMark is the largest minimum threshold of the queues that the classes of a group go to, at
// any port.
func (s *Switch) latestMark(p *pipeline.Port, g int) (ecn unit.Bytes, queue int) {
	for tc := range uint8(classify.Classes) {
		if int(p.Map.Group[tc]) != g || !isLossless(p, tc) {
			continue
		}
		for i := range s.Machine.Ports {
			out := &s.Machine.Ports[i]
			q := int(out.Map.Queue[tc])
			if mark := out.Queues[q].WRED.Mark; mark.Kmin > ecn {
				ecn, queue = mark.Kmin, q
			}
		}
	}
	return ecn, queue
}

// shared is what of a pool is nobody's own.
func (s *Switch) shared(pool int) unit.Bytes {
	reserved, headroom := s.aside(pool)
	p := &s.Machine.Pools[pool]
	if p.SharedHeadroom > 0 {
		headroom = p.SharedHeadroom
	}
	return p.Size - reserved - headroom
}

// neighbourPFC compares what one end pauses with what the other obeys.
func neighbourPFC(f *Fabric, w *warnings) {
	f.each(func(s *Switch, i int, p *pipeline.Port) {
		peer := &s.Links[i].Peer
		at := fmt.Sprintf("%s:%s - %s", s.Name, p.Name, peer.Name)
		switch {
		case peer.Switch != nil:
			obeys := peer.Switch.Machine.Ports[peer.Port].PFCObey
			w.unless(p.PFCSend&^obeys == 0, at, "pauses %v, the other end obeys only %v", p.PFCSend,
				obeys)
		case peer.Host != nil:
			obeys := pfc.Set(0)
			for _, n := range peer.Host.PFCEnable {
				obeys = obeys.With(pfc.Priority(n))
			}
			hostPFC(p, peer.Host.DSCP.Data, obeys, at, w)
		}
	})
}

// hostPFC asks whether the data of a host is lossless at both ends.
func hostPFC(p *pipeline.Port, dscp uint8, obeys pfc.Set, at string, w *warnings) {
	if p.Classify.Trust != classify.TrustDSCP {
		return
	}
	tc := p.Classify.DSCP[dscp]
	here, there := isLossless(p, tc), obeys.Has(pfc.Priority(tc))
	w.unless(!here || there, at, "data (DSCP %d) is in lossless class %d, whose pause the NIC "+
		"does not obey (pfc_enable %v)", dscp, tc, obeys)
	w.unless(here || obeys == 0, at, "data (DSCP %d) is in lossy class %d, the NIC has PFC on %v",
		dscp, tc, obeys)
}

// neighbourMap finds code points that are lossless at one switch and lossy at the next.
func neighbourMap(f *Fabric, w *warnings) {
	f.each(func(s *Switch, i int, p *pipeline.Port) {
		peer := &s.Links[i].Peer
		if peer.Switch == nil {
			return
		}
		far := &peer.Switch.Machine.Ports[peer.Port]
		if p.Classify.Trust != classify.TrustDSCP || far.Classify.Trust != classify.TrustDSCP {
			return
		}
		for dscp := range p.Classify.DSCP {
			near, there := p.Classify.DSCP[dscp], far.Classify.DSCP[dscp]
			if isLossless(p, near) && !isLossless(far, there) {
				w.unless(false, fmt.Sprintf("%s:%s - %s", s.Name, p.Name, peer.Name),
					"DSCP %d is lossless here (class %d) and lossy there (class %d)", dscp, near,
					there)
				return // one of a map is enough
			}
		}
	})
}

// hostFits checks that the largest RoCE packet of a host fits its link.
func (s *Switch) hostFits(i int, w *warnings) {
	const roce = 20 + 8 + 12 + 16 + 4 + 4 // IPv4, UDP, BTH, RETH, immediate data, ICRC
	if host := s.Links[i].Peer.Host; host != nil {
		w.unless(host.MTU+roce <= s.Links[i].MTU, s.Name+":"+s.Machine.Ports[i].Name+" - "+
			s.Links[i].Peer.Name, "RoCE MTU %d + headers > MTU %d of the link", host.MTU,
			s.Links[i].MTU)
	}
}

// mtu finds ports of a switch whose frames do not fit the links of others.
func mtu(f *Fabric, w *warnings) {
	for _, s := range f.Switches {
		least, most := 0, 0
		for i := range s.Links {
			if s.Links[i].MTU < s.Links[least].MTU {
				least = i
			}
			if s.Links[i].MTU > s.Links[most].MTU {
				most = i
			}
		}
		if len(s.Links) > 0 {
			w.unless(s.Links[least].MTU == s.Links[most].MTU, s.Name, "MTU %d at %s < %d at %s: "+
				"frames of one do not fit the other", s.Links[least].MTU,
				s.Machine.Ports[least].Name, s.Links[most].MTU, s.Machine.Ports[most].Name)
		}
		for i := range s.Links {
			s.hostFits(i, w)
		}
	}
}
