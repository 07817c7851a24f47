// Package host tests the NIC on real devices as part of its host: it has the addresses of the
// kernel, follows its routes and neighbours, and leaves the kernel's own traffic alone.
package host
