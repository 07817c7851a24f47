// Package guest boots a Linux with rdma_rxe in a virtual machine and runs commands in it.
//
// The machine that tests run on need not have an RDMA stack; its kernel often has none. So a
// Debian kernel and the tools of rdma-core and perftest, which nobody here wrote, are taken from
// Debian's packages, put into an image (Recipe) that is built once and kept (Image), and booted in
// qemu without acceleration (Boot): about four seconds. Nothing of it is installed on the host.
//
//	packages --fetch--> .deb files --unpack--> tree --+--> vmlinux   out of the bzImage
//	                                                  +--> initramfs programs, libraries, modules
//	                                                       + at boot: agent, configuration, extras
//
// The guest's first process is our agent (guest/agent). It loads the modules, gives the network
// device its addresses and an rxe device on it, and then executes commands that come over a virtio
// serial port, many at a time (guest/line says in which words). The network device is a TAP, given
// to qemu as an open file: it vanishes with the last process that has it, so a crashed test leaves
// nothing behind, and neither qemu nor a namespace of its own outlives its parent.
package guest
