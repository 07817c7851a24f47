// Package pingpong is the other end of rdma-core's ibv_rc_pingpong, ibv_ud_pingpong and
// ibv_srq_pingpong, or both ends.
//
// The ends tell each other of their QPs over TCP, then send one message to and fro on each QP, the
// client first. The real programs receive into the buffer they send from, so what a client sends
// comes back; with Config.Check it is compared.
package pingpong
