// Package bpf is the XDP programs and their loader.
//
//	switch.c   port of a switch: every frame to the AF_XDP socket of its queue
//	nic.c      NIC: RoCEv2, PFC, PAUSE, CNM to the socket, the rest to the kernel; in a lab
//	           requests for the NIC's address to the socket as well
//
// Both classify the frame by the rules of dataplane/classify and put what they found, with the
// arrival time, into 32 bytes of metadata in front of it. What is a lookup or a count is done
// there, so that it is seen even when the rings overflow; what depends on queues is not. Of a frame
// that a switch port's program drops by the watchdog's verdict it leaves a record.
//
// Each loaded program has maps of its own: configuration, counters, sockets. It needs kernel
// 5.15, CAP_NET_ADMIN and CAP_BPF. The objects are committed, little endian only (amd64, arm64);
// go generate makes them again with clang.
package bpf

//go:generate -command bpf2go go tool github.com/cilium/ebpf/cmd/bpf2go -target bpfel
//go:generate bpf2go -no-global-types switchPort switch.c -- -O2 -Wall -Werror
//go:generate bpf2go -no-global-types nic nic.c -- -O2 -Wall -Werror
