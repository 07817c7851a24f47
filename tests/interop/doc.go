// Package interop runs nicd against Linux rdma_rxe and its tools, which nobody here wrote.
//
//	host: network namespace                          | qemu: Debian's kernel
//	 nicd --AF_XDP-- eth0 ===veth=== br --- tap0 ----|---- eth0 -- rxe0 -- ibv_*, rping, ib_*
//	 kernel (ARP, TCP) ----------'                   |
//
// There is one such station for each MTU (1500: path MTU 1024; 4500: path MTU 4096), shared by all
// tests. Time is real (dilation 1), less what the machine stood still: the other end has a clock of
// its own, and the package wants the machine for itself. The guest is emulated and
// slow, a thousandth of a NIC, so what is tested here is that every byte arrives and that nothing
// we send is wrong, not speed.
//
// Judges are the tools themselves, our own check of every payload, the guest's rxe counters, and
// tshark on a capture of every frame that passed nicd's port. Captures, console and logs of a
// failed run are kept, and the failure says where.
package interop
