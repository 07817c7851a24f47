// Package nic is the RDMA network interface as a pure machine: a dataplane.Device of one port.
//
//	           +-- PFC -----> pause state of each priority ----------------------+
//	Receive ---+-- CNP, CNM > congestion control of the QP -> rate -> pacer      | holds back
//	           +-- request -> QP: memory, ACK or NAK owed; if marked: CNP owed   |
//	           +-- ACK, NAK -> QP: completions, go back                          |
//	           +-- ARP request for the NIC's address: answer owed                v
//	Transmit <-- first CNPs, then ACKs and NAKs, then data of the QPs whose turn it is
//
// Answers are not queued as frames: a QP that owes one stands in a list and the answer is made
// when the wire takes it, so several become one and the lists cannot overflow. Data is pulled
// from the QPs the same way. So the NIC buffers no frame that it sends. Frames that arrive wait if
// a receive pipeline is modelled (ReceiveConfig), which may pause the switch.
//
// All deadlines, of pacing, congestion control, retransmission, notification and pause, stand in
// one timing wheel: the cost of a call does not grow with the number of QPs.
package nic
