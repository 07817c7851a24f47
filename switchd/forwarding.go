package switchd

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/switchd/fib"
)

func (s *observer) handleForwarding(mux *http.ServeMux) {
	daemon.Handle(mux, "GET /v1/mac", s.showMACs)
	daemon.Handle(mux, "POST /v1/mac", s.addMAC)
	daemon.Handle(mux, "POST /v1/mac/delete", s.deleteMAC)
	daemon.Handle(mux, "POST /v1/mac/flush", s.flushMACs)
	daemon.Handle(mux, "GET /v1/arp", s.showARP)
	daemon.Handle(mux, "POST /v1/arp", s.addARP)
	daemon.Handle(mux, "POST /v1/arp/delete", s.deleteARP)
	daemon.Handle(mux, "GET /v1/route", s.showRoutes)
	daemon.Handle(mux, "POST /v1/route", s.addRoute)
	daemon.Handle(mux, "POST /v1/route/delete", s.deleteRoute)
}

// change runs fn between two turns of the loop.
func (s *observer) change(fn func(now unit.Time) error) (none struct{}, err error) {
	return none, daemon.Do(s.run, fn)
}

// changeRouter is change for a switch that routes.
func (s *observer) changeRouter(fn func(unit.Time, *fib.Router) error) (struct{}, error) {
	return s.change(func(now unit.Time) error {
		if s.sw.Router() == nil {
			return errors.New("the switch has no interfaces and does not route")
		}
		return fn(now, s.sw.Router())
	})
}

// lookRouter is changeRouter for what only looks: a switch that does not route has nothing to show.
func (s *observer) lookRouter(fn func(unit.Time, *fib.Router) error) (struct{}, error) {
	return s.change(func(now unit.Time) error {
		if s.sw.Router() == nil {
			return nil
		}
		return fn(now, s.sw.Router())
	})
}

func (s *observer) port(name string) (dataplane.PortID, error) {
	id, ok := s.names[name]
	if !ok {
		return 0, fmt.Errorf("no port %q", name)
	}
	return id, nil
}

func (s *observer) showMACs(struct{}) (list []MACEntry, err error) {
	list = []MACEntry{}
	_, err = s.change(func(now unit.Time) error {
		s.sw.MACs().Walk(now, func(e fib.Entry) {
			entry := MACEntry{MAC: e.MAC, Port: s.sw.PortName(e.Port), Type: "static"}
			if !e.Static {
				entry.Type, entry.AgeNs = "dynamic", now.Sub(e.Seen).Nanoseconds()
			}
			list = append(list, entry)
		})
		return nil
	})
	slices.SortFunc(list, func(a, b MACEntry) int { return slices.Compare(a.MAC[:], b.MAC[:]) })
	return list, err
}

func (s *observer) addMAC(r MACRequest) (struct{}, error) {
	port, err := s.port(r.Port)
	if err != nil {
		return struct{}{}, err
	}
	return s.change(func(unit.Time) error {
		if router := s.sw.Router(); router != nil && router.Routed(port) {
			return fmt.Errorf("port %s has an interface and does not bridge", r.Port)
		}
		return s.sw.MACs().AddStatic(r.MAC, port)
	})
}

func (s *observer) deleteMAC(r MACRequest) (struct{}, error) {
	return s.change(func(unit.Time) error {
		if !s.sw.MACs().Remove(r.MAC) {
			return fmt.Errorf("no MAC address %v", r.MAC)
		}
		return nil
	})
}

func (s *observer) flushMACs(r FlushRequest) (struct{}, error) {
	if r.Port == "" {
		return s.change(func(unit.Time) error { s.sw.MACs().Flush(); return nil })
	}
	port, err := s.port(r.Port)
	if err != nil {
		return struct{}{}, err
	}
	return s.change(func(unit.Time) error { s.sw.MACs().FlushPort(port); return nil })
}

func (s *observer) showARP(struct{}) (list []ARPEntry, err error) {
	list = []ARPEntry{}
	_, err = s.lookRouter(func(now unit.Time, r *fib.Router) error {
		r.Neighbours.Walk(now, func(e fib.Neighbour) {
			list = append(list, s.arpEntry(now, r, &e))
		})
		return nil
	})
	slices.SortFunc(list, func(a, b ARPEntry) int {
		return cmp.Or(cmp.Compare(a.Interface, b.Interface), a.Address.Compare(b.Address))
	})
	return list, err
}

func (s *observer) arpEntry(now unit.Time, r *fib.Router, e *fib.Neighbour) ARPEntry {
	on := &r.Config().Interfaces[e.Interface]
	entry := ARPEntry{Address: e.Addr, Interface: on.Name, State: e.State.String(),
		Waiting: e.Waiting}
	if e.State == fib.Incomplete {
		return entry
	}
	entry.MAC = e.MAC.String()
	if e.State != fib.Permanent {
		entry.AgeNs = now.Sub(e.Confirmed).Nanoseconds()
	}
	if on.Port != fib.VLAN {
		entry.Port = s.sw.PortName(on.Port)
	} else if port, ok := s.sw.MACs().Peek(now, e.MAC); ok {
		entry.Port = s.sw.PortName(port)
	}
	return entry
}

func (s *observer) addARP(r ARPRequest) (struct{}, error) {
	return s.changeRouter(func(now unit.Time, router *fib.Router) error {
		e := fib.StaticNeighbour{Addr: r.Address, MAC: r.MAC}
		if err := router.Config().ValidateNeighbour(e); err != nil {
			return err
		}
		on, _ := router.Config().Connected(r.Address)
		return router.Neighbours.AddStatic(now, on, r.Address, r.MAC)
	})
}

func (s *observer) deleteARP(r ARPRequest) (struct{}, error) {
	return s.changeRouter(func(_ unit.Time, router *fib.Router) error {
		on, ok := router.Config().Connected(r.Address)
		if !ok || !s.sw.RemoveNeighbour(on, r.Address) {
			return fmt.Errorf("no neighbour %v", r.Address)
		}
		return nil
	})
}

func (s *observer) showRoutes(struct{}) (list []RouteEntry, err error) {
	list = []RouteEntry{}
	_, err = s.lookRouter(func(_ unit.Time, r *fib.Router) error {
		r.Routes(func(prefix netip.Prefix, g *fib.Group) bool {
			entry := RouteEntry{Prefix: prefix, Type: g.Kind.String(), NextHops: []NextHop{}}
			if g.Kind == fib.Via {
				entry.Type = "static"
			}
			for _, hop := range g.Hops {
				h := NextHop{Interface: r.Config().Interfaces[hop.Interface].Name,
					Up: r.Up(hop.Interface)}
				if hop.Addr.IsValid() {
					h.Address = hop.Addr.String()
				}
				entry.NextHops = append(entry.NextHops, h)
			}
			list = append(list, entry)
			return true
		})
		return nil
	})
	return list, err
}

func (s *observer) addRoute(r RouteRequest) (struct{}, error) {
	return s.changeRouter(func(_ unit.Time, router *fib.Router) error {
		return router.AddRoute(fib.Route{Prefix: r.Prefix, NextHops: r.NextHops})
	})
}

func (s *observer) deleteRoute(r RouteRequest) (struct{}, error) {
	return s.changeRouter(func(_ unit.Time, router *fib.Router) error {
		return router.RemoveRoute(r.Prefix)
	})
}
