// Package xsk is a port's wire on an AF_XDP socket: frames in, frames out, on one queue.
//
// Ownership of UMEM chunks is told first, because it is where AF_XDP goes wrong. The UMEM is cut
// in two. The receive half is always with the kernel (fill ring, or holding a received frame)
// except inside one Receive call, which copies each frame into a pool frame and gives the chunk
// back at once. The transmit half is ours until Send, the kernel's until its completion. Nothing
// else ever holds a chunk, so no list of them can get out of step with the kernel's.
//
// A frame longer than a chunk holds comes and goes in parts (scatter-gather, kernel 6.6): several
// descriptors of which all but the last say that the packet is continued. Receive gathers the parts
// into one frame of the pool, Send scatters a frame over chunks; one is lost whole or not at all.
//
// asavie/xdp carries the rings. Its traps are closed here: it offers received chunks again as free
// (the receive half is never taken from its free list), it scans all chunks for free ones (done
// once per burst of the whole transmit half), it panics when sendto fails because the device has
// gone (recovered at one place, the wire then reports down), it closes a socket without unmapping
// its rings, which keeps the queue busy (unmap.go), and its millisecond Poll is not used. It knows
// nothing of scatter-gather but hides nothing either: the flag of bind is set in its variable
// (socket.go), the option of descriptors goes through it, and gathering and scattering are ours.
package xsk
