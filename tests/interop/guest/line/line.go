// Package line is what a test and the agent in the guest say to each other: JSON, one request or
// reply a line, over a serial port.
//
// A request begins or ends a command; replies carry its output as it comes, and its end. Commands
// have numbers that the test chose, so many can be at work at the same time.
package line

// Port is the name of the serial port; the agent finds the device by it.
const Port = "rocelab.agent"

// ConfigPath is the file in the guest with its configuration.
const ConfigPath = "etc/guest.json"

// Config is how the agent sets the guest up.
type Config struct {
	MTU       int      `json:"mtu"`       // of eth0
	Addresses []string `json:"addresses"` // of eth0, with prefix length
}

// What a request asks for.
const (
	Start    = "start"    // execute Command with a shell
	Kill     = "kill"     // end it and all its children
	Listens  = "listens"  // reply when a TCP socket listens on Port, or an error after a while
	PowerOff = "poweroff" // end the guest
)

// Request is what a test says.
type Request struct {
	ID      uint32 `json:"id"`
	Do      string `json:"do"`
	Command string `json:"command,omitempty"`
	Port    uint16 `json:"port,omitempty"`
}

// What a reply tells.
const (
	Up     = "up"     // the guest is ready; the first reply, with number 0
	Output = "output" // a piece of what the command wrote, both to stdout and stderr
	Exit   = "exit"   // it ended with Status; nothing of this number follows
)

// Reply is what the agent says.
type Reply struct {
	ID     uint32 `json:"id"`
	Is     string `json:"is"`
	Output []byte `json:"output,omitempty"`
	Status int    `json:"status,omitempty"` // 128 + the number of a signal
}
