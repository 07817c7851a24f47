package daemon

import (
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/rocelab/rocelab/dataplane/clock"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/xsk"
)

// Common is the part of the configuration that both daemons share.
type Common struct {
	Name     string      `yaml:"name"`
	Netns    string      `yaml:"netns,omitempty"`
	Control  string      `yaml:"control,omitempty"`
	Metrics  string      `yaml:"metrics,omitempty"`
	LogLevel string      `yaml:"log_level,omitempty"`
	Clock    ClockConfig `yaml:"clock,omitempty"`
}

// ClockConfig says which clock a daemon runs by. Without a page it has its own, at k = dilation.
type ClockConfig struct {
	Page     string  `yaml:"page,omitempty"`
	Slot     int     `yaml:"slot,omitempty"`
	Slots    int     `yaml:"slots,omitempty"`
	Links    int     `yaml:"links,omitempty"` // directions of links that the lab counts
	Dilation float64 `yaml:"dilation,omitempty"`
}

// Validate judges the common part.
func (c *Common) Validate() (faults []Fault) {
	if c.Name == "" {
		faults = append(faults, Fault{"name", "is missing"})
	}
	if c.Metrics != "" {
		host, _, err := net.SplitHostPort(c.Metrics)
		if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
			faults = append(faults, Fault{
				"metrics",
				fmt.Sprintf(
					"%q: want a loopback address with a port, as 127.0.0.1:9465",
					c.Metrics,
				),
			})
		}
	}
	if _, err := parseLevel(c.LogLevel); err != nil {
		faults = append(faults, Fault{"log_level", err.Error()})
	}
	return append(faults, c.Clock.validate()...)
}

func (c *ClockConfig) validate() (faults []Fault) {
	if c.Page == "" {
		if c.Dilation != 0 && c.Dilation < 1 {
			faults = append(faults, Fault{"clock.dilation", "must be 1 or more"})
		}
		return faults
	}
	if c.Slots < 1 || c.Slots > clock.MaxSlots {
		faults = append(
			faults,
			Fault{"clock.slots", fmt.Sprintf("must be 1 to %d", clock.MaxSlots)},
		)
	}
	if c.Slot < 0 || c.Slot >= c.Slots {
		faults = append(faults, Fault{"clock.slot", "must be below clock.slots"})
	}
	if c.Links < 0 || c.Links > clock.MaxLinks {
		faults = append(
			faults,
			Fault{"clock.links", fmt.Sprintf("must be 0 to %d", clock.MaxLinks)},
		)
	}
	if c.Dilation != 0 {
		faults = append(faults, Fault{"clock.dilation", "is set by the owner of clock.page"})
	}
	return faults
}

// open returns the clock the configuration asks for. A clock of the daemon's own runs at once; what
// it may be late by hangs on the fastest port.
func (c *ClockConfig) open(ports []PortConfig) (clk *clock.Clock, links clock.Links, err error) {
	if c.Page == "" {
		budget := unit.Never
		for i := range ports {
			budget = min(budget, unit.Time(loop.Stall(ports[i].Rate)))
		}
		clk, err = clock.NewOwn(max(c.Dilation, 1), budget, clock.Monotonic)
		return clk, links, err
	}
	page, err := clock.Open(c.Page)
	if err != nil {
		return nil, links, err
	}
	if links, err = clock.NewLinks(page, c.Links); err != nil {
		return nil, links, err
	}
	clk, err = clock.NewClock(page, c.Slot, c.Slots)
	return clk, links, err
}

// PortConfig is one port of a daemon as the configuration gives it.
type PortConfig struct {
	Name  string        `yaml:"name"`
	Rate  unit.Rate     `yaml:"rate"`
	Delay time.Duration `yaml:"delay,omitempty"`
	MTU   int           `yaml:"mtu,omitempty"` // of the device; 0: whatever it has
	// The lab's numbers for the two directions of the link, if it has a common clock.
	TxLink *int `yaml:"tx_link,omitempty"`
	RxLink *int `yaml:"rx_link,omitempty"`
	// FarEnd is what is at the other end of such a link; empty: a NIC.
	FarEnd loop.FarEnd `yaml:"far_end,omitempty"`
	// FarIPv4 is the address of a lab's NIC there, which answers ARP for it.
	FarIPv4 *netip.Addr `yaml:"far_ipv4,omitempty"`
	// Seed of the dice of what goes wrong with what leaves here; 0: of the port's name.
	Seed uint64 `yaml:"seed,omitempty"`
}

// LinkSeed is the seed of the direction of the link that begins at a node's port.
func (p *PortConfig) LinkSeed(node string) uint64 {
	if p.Seed != 0 {
		return p.Seed
	}
	return link.SeedOf(node + ":" + p.Name)
}

// Validate judges one port; path is where it stands in the file.
func (p *PortConfig) Validate(path string) (faults []Fault) {
	if p.Name == "" {
		faults = append(faults, Fault{path + ".name", "is missing"})
	}
	if p.Rate <= 0 {
		faults = append(faults, Fault{path + ".rate", "must be positive, as 40Gb/s"})
	}
	if p.Delay < 0 {
		faults = append(faults, Fault{path + ".delay", "must not be negative"})
	}
	if p.MTU != 0 && (p.MTU < MinMTU || p.MTU > xsk.MaxMTU) {
		faults = append(faults, Fault{path + ".mtu",
			fmt.Sprintf("%d: want %d to %d", p.MTU, MinMTU, xsk.MaxMTU)})
	}
	switch p.FarEnd {
	case "", loop.NIC, loop.Switch:
	default:
		faults = append(faults, Fault{path + ".far_end",
			fmt.Sprintf("%q: want %s or %s", p.FarEnd, loop.NIC, loop.Switch)})
	}
	return faults
}
