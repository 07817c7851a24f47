package loop

import "github.com/rocelab/rocelab/dataplane/frame"

// FarEnd is what is at the other end of a link of a lab. It settles which frames of the link,
// either way, their sender tells the clock of: those that end in a socket, whoever of the two
// receives them. They arrive when their sender said, and the clock waits for them. Of all others
// there is only a time stamp, which hangs on how fast the kernel was.
type FarEnd string

// The far ends. One that is not named is taken for a NIC.
const (
	NIC    FarEnd = "nic"    // what is not RDMA or its flow control goes to its host's kernel
	Switch FarEnd = "switch" // everything goes to its socket
)

// Told is the kinds of frames whose arrival is told. To a NIC these are the kinds that its program
// does not pass to the kernel, which sends frames of the other kinds on the same link. There is one
// frame more: who asks a NIC for the MAC address of Port.FarIPv4 tells of that.
func (e FarEnd) Told() frame.Kinds {
	if e == Switch {
		return frame.AllKinds
	}
	return frame.AllKinds.Without(frame.Other, frame.IPv4, frame.IPv6, frame.Malformed,
		frame.MACControl)
}
