package thresholds

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// Section4 is a switch in the terms of [DCQCN] section 4.
type Section4 struct {
	Buffer     unit.Bytes // B
	Ports      int        // n
	Priorities int        // the paper's 8: how many classes are lossless
	Flight     unit.Bytes // t_flight, headroom of each port and priority
	MTU        unit.Bytes
	Beta       float64 // of the dynamic threshold; alpha = beta/8
}

// Paper is the switch of the paper: an Arista 7050QX32 (Trident II). t_flight is the paper's own
// value, "following guidelines in [8]" for a cable that it does not name.
func Paper() Section4 {
	return Section4{Buffer: 12 * unit.MB, Ports: 32, Priorities: 8, Flight: 22_400, MTU: 1500,
		Beta: 8}
}

// free is what is left beside headroom: B - 8 n t_flight.
func (s *Section4) free() float64 {
	return float64(s.Buffer) - float64(float64(s.Priorities*s.Ports)*float64(s.Flight))
}

// StaticPFC is the largest fixed t_PFC: (B - 8 n t_flight) / (8 n). Bytes.
func (s *Section4) StaticPFC() float64 { return s.free() / float64(s.Priorities*s.Ports) }

// StaticECN is the bound of t_ECN below that t_PFC: all egress queues may hold what came through
// one ingress queue, so t_PFC > n t_ECN. Bytes.
func (s *Section4) StaticECN() float64 { return s.StaticPFC() / float64(s.Ports) }

// DynamicPFC is t_PFC with s bytes stored: beta (B - 8 n t_flight - s) / 8. The 8 under the line
// is of beta, which counts eighths, whatever the number of priorities. Bytes.
func (s *Section4) DynamicPFC(stored float64) float64 { return s.Beta / 8 * (s.free() - stored) }

// DynamicECN is the bound of t_ECN below that t_PFC. Just before the first mark every queue of
// every priority may hold t_ECN, so s = 8 n t_ECN, and again t_PFC > n t_ECN:
//
//	beta/8 (B - 8 n t_flight - 8 n t_ECN) > n t_ECN
//	t_ECN < beta (B - 8 n t_flight) / (8 n (beta + 1))
//
// With P priorities instead of 8 that is alpha (B - P n t_flight) / (n (P alpha + 1)). Bytes.
func (s *Section4) DynamicECN() float64 {
	alpha := s.Beta / 8
	return alpha * s.free() / (float64(s.Ports) * (float64(float64(s.Priorities)*alpha) + 1))
}

// Feasible reports whether a bound of t_ECN leaves room for one frame.
func (s *Section4) Feasible(ecn float64) bool { return ecn >= float64(s.MTU) }

// Derive is all of it step by step.
func (s *Section4) Derive() *Derivation {
	d := &Derivation{Title: fmt.Sprintf("Thresholds of a switch with %v, %d ports, %d priorities",
		s.Buffer, s.Ports, s.Priorities), Source: "[DCQCN] section 4"}
	d.add("t_flight", "headroom of a port and priority", "", float64(s.Flight)/1e3, "KB")
	free := d.add("left", "B - P n t_flight", fmt.Sprintf("%d - %d x %d x %d", s.Buffer,
		s.Priorities, s.Ports, s.Flight), s.free(), "bytes")
	pfc := d.atMost("t_PFC <=", "left / (P n)", fmt.Sprintf("%s / (%d x %d)",
		number(free), s.Priorities, s.Ports), s.StaticPFC()/1e3, "KB")
	d.note("static: the same for every ingress queue")
	static := d.atMost("t_ECN <", "t_PFC / n", fmt.Sprintf("%s KB / %d", number(pfc), s.Ports),
		s.StaticECN()/1e3, "KB")
	d.note("%s", s.verdict(static*1e3))
	d.add("t_PFC(s)", "beta (left - s) / 8", fmt.Sprintf("%s x (%s - s) / 8",
		number(s.Beta), number(free)), s.DynamicPFC(0)/1e3, "KB at s = 0")
	d.note("dynamic: alpha = beta / 8 = %s", number(s.Beta/8))
	ecn := d.atMost("t_ECN <", "beta left / (n (P beta + 8))",
		fmt.Sprintf("%s x %s / (%d x (%d x %s + 8))", number(s.Beta), number(free), s.Ports,
			s.Priorities, number(s.Beta)), s.DynamicECN()/1e3, "KB")
	d.note("%s; with P = 8 it is the paper's beta (B - 8 n t_flight) / (8 n (beta + 1))",
		s.verdict(ecn*1e3))
	return d
}

func (s *Section4) verdict(ecn float64) string {
	if s.Feasible(ecn) {
		return fmt.Sprintf("feasible: %s frames of %d bytes", number(ecn/float64(s.MTU)), s.MTU)
	}
	return fmt.Sprintf("infeasible: less than one frame of %d bytes", s.MTU)
}
