package nicd

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/roce/ib"
)

// headers is what the longest packet has beside its payload, without the link header: WRITE ONLY
// with immediate data over IPv4.
const headers = wire.IPv4Len + wire.UDPLen + ib.BTHLen + ib.RETHLen + ib.ImmDtLen + ib.ICRCLen

// fits says why packets of the path MTU do not fit a device of an MTU.
func (c *Config) fits(device int) error {
	if need := c.MTU + headers; need > device {
		return fmt.Errorf("mtu: a path MTU of %d needs a device MTU of %d, %s has %d", c.MTU, need,
			c.Port.Name, device)
	}
	return nil
}
