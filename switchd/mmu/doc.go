// Package mmu is the switch's buffer: who may store how much, and when to say stop.
//
// The words are SAI's. A frame is charged twice: at the ingress to the priority group (PG) it came
// through, which decides about loss and PFC, and at the egress to the queue it waits in. Each takes
// from a pool of its side, which is divided when the switch starts or is reconfigured:
//
//	ingress pool = reserved of every PG + headroom + shared
//	egress pool  = reserved of every queue + shared
//
// A frame goes into its PG's reserved part, then into shared while the PG stays within its limit.
// The limit is fixed, or alpha times what is free of shared ([RDMA at scale] section 6.2). With
// alpha = beta/8 that is [DCQCN] section 4: t_PFC = beta (B - 8 n t_flight - s) / 8. Beyond it a
// lossy PG drops; a lossless one goes to XOFF and stores in headroom what is still on its way: its
// own headroom, or up to as much of a headroom that the PGs of the pool share.
//
//	         a frame passes the limit
//	XON ----------------------------------> XOFF    headroom fills; full: DropHeadroom
//	 ^                                        |
//	 +----------------------------------------+
//	    headroom empty, and shared use at most XON, or XONOffset below the limit
//
// What leaves empties the headroom first. The limit of one PG rises when any other drains, so a
// PG may come back to XON without a frame of its own moving: Release finds those too. The egress
// knows no XOFF: a queue beyond its limit drops, and pauses nobody.
package mmu
