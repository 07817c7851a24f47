package cm

import (
	"fmt"
	"math/rand/v2"

	"github.com/rocelab/rocelab/roce/ib"
)

// Config is a manager's configuration. Start from DefaultConfig.
type Config struct {
	GUID   uint64      // of the channel adapter: what tells its communication ids from others'
	Random rand.Source // of communication and transaction ids; who guesses them can forge MADs

	ResponseTimeout uint8 // code, in which each side is expected to answer: ib.TimeOf
	PacketLifetime  uint8 // code, of the longest way of a packet through the network
	AckDelay        uint8 // code, of the longest time until we acknowledge a packet
	ServiceTimeout  uint8 // code, in which a slow application is said to answer
	MaxRetries      uint8 // repetitions of a message that nobody answers, 0 to 15

	MTU            int // the largest path MTU that we take part in
	MaxConnections int // of all states, timewait included, and SIDR requests
}

// DefaultConfig has the timing of Linux' RDMA connection manager: drivers/infiniband/core/cma.c,
// CMA_CM_RESPONSE_TIMEOUT, CMA_IBOE_PACKET_LIFETIME, CMA_CM_MRA_SETTING and CMA_MAX_CM_RETRIES;
// the ack delay is what rxe tells. A REQ is repeated after 4.8 s. The bound is our choice.
func DefaultConfig() Config {
	return Config{ResponseTimeout: 20, PacketLifetime: 16, AckDelay: 15, ServiceTimeout: 24,
		MaxRetries: 15, MTU: 4096, MaxConnections: 4096}
}

// Validate returns every fault, each starting with the field's name.
func (c *Config) Validate() (faults []error) {
	must := func(ok bool, format string, args ...any) {
		if !ok {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	must(c.Random != nil, "random: no generator")
	for _, f := range []struct {
		name string
		code uint8
	}{{"response_timeout", c.ResponseTimeout}, {"packet_lifetime", c.PacketLifetime},
		{"ack_delay", c.AckDelay}, {"service_timeout", c.ServiceTimeout}} {
		must(f.code < 32, "%s: code %d is not in 0..31", f.name, f.code)
	}
	must(c.MaxRetries < 16, "max_retries: %d is not in 0..15", c.MaxRetries)
	must(ib.CodeOfMTU(c.MTU) != 0, "mtu: %d is not 256, 512, 1024, 2048 or 4096", c.MTU)
	must(c.MaxConnections > 0, "max_connections: %d is not positive", c.MaxConnections)
	return faults
}

// ackTimeout is the code of the retransmission timeout of packets to us and back.
func (c *Config) ackTimeout() uint8 { return ib.AckTimeout(c.PacketLifetime, c.AckDelay) }
