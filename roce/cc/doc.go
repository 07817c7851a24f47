// Package cc is congestion control: algorithms behind one contract, and the notification point.
//
// The contract has the shape of programmable congestion control in real NICs: events go in (sent,
// ack, nack, cnp, cnm, rtt, timeout), a limit comes out (rate, window, probe request). An algorithm
// is one file and one line in the registry; it serves one QP and knows nothing about packets.
// Programs add their own by Registry.With.
//
//	dcqcn       [DCQCN] 3.1, driven by CNPs; presets imitate [DCQCN+] by parameters
//	dcqcn_plus  [DCQCN+] 4, driven by CNPs that tell the receiver's interval
//	qcn         [QCN] 2, driven by the CNMs of switches, which end where a router is
//	dctcp       RFC 8257 3.3, driven by congestion feedback
//	hpcc        [HPCC] algorithm 1, driven by telemetry of switches in congestion feedback
//	ldcp        [LDCP] 2.2 and 2.3, driven by congestion feedback
//	ldcp_probe  [LDCP] 3.2, driven by CNPs and RTT probes
//	swift       [Swift] 3, driven by the delays in congestion feedback
//	timely      [TIMELY] algorithm 1, the same
//	none        line rate
//
// What a paper leaves open is decided at the type of its algorithm, or at its default parameters,
// each with the argument for it.
package cc
