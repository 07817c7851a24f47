// Package cc is congestion control: algorithms behind one contract, and the notification point.
//
// The contract has the shape of programmable congestion control in real NICs: events go in (sent,
// ack, nack, cnp, rtt, timeout), a limit comes out (rate, window, probe request). An algorithm is
// one file and one line in the registry; it serves one QP and knows nothing about packets.
package cc
