package switchd

import (
	"fmt"
	"slices"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/sonic"
)

// Parameters are the settings that a reader of results needs: those of the first port's first
// lossless priority, which as a rule are those of all.
func (c *Config) Parameters() []daemon.Parameter {
	ports := c.Ports
	if len(ports) == 0 {
		ports = []daemon.PortConfig{{Name: "any"}}
	}
	one := *c
	one.Ports = ports
	t, faults := one.Tables()
	if len(faults) > 0 {
		return nil
	}
	return parameters(t, ports[0].Name)
}

func parameters(t *sonic.Tables, port string) (list []daemon.Parameter) {
	add := func(name, value string) {
		list = append(list, daemon.Parameter{Name: name, Value: value})
	}
	row := t.PortQoS[port]
	var size unit.Bytes
	var profile sonic.Profile
	var wred sonic.WRED
	if len(row.PFCEnable) > 0 {
		tc := row.PFCEnable[0]
		profile = t.Profiles[t.PGs[sonic.Slot(port, int(t.TCToPG[row.TCToPG][tc]))].Profile]
		wred = t.WRED[t.Queues[sonic.Slot(port, int(t.TCToQueue[row.TCToQueue][tc]))].WRED]
		size = t.Pools[profile.Pool].Size
	}
	mark := wred.Marking()
	add("buffer", size.String())
	add("headroom", profile.XOFF.String())
	add("Kmin", mark.Min.String())
	add("Kmax", mark.Max.String())
	add("Pmax", fmt.Sprintf("%g %%", mark.Percent))
	add("PFC priorities", fmt.Sprintf("%d", slices.Clone([]uint8(row.PFCEnable))))
	if a := profile.Limit.Alpha; profile.Limit.Kind == sonic.Dynamic {
		if n, ok := a.Exponent(); ok {
			add("alpha", fmt.Sprintf("2^%d", n))
		} else {
			add("alpha", a.String())
		}
	}
	return list
}
