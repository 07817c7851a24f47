package fib

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/rocelab/rocelab/dataplane/unit"
)

// CanBecome says why a router cannot get another configuration while it forwards: its interfaces
// and the size of its table of neighbours stay.
func (r *Router) CanBecome(cfg *RouterConfig) error {
	same := func(a, b Interface) bool {
		return a.Name == b.Name && a.Port == b.Port && slices.Equal(a.Addresses, b.Addresses)
	}
	var faults []error
	if !slices.EqualFunc(r.cfg.Interfaces, cfg.Interfaces, same) {
		faults = append(faults, errors.New("router: the interfaces stay what they are"))
	}
	now, then := r.Neighbours.cfg, cfg.Neighbours.withDefaults()
	if now.Max != then.Max || now.Waiting != then.Waiting || now.Held != then.Held {
		faults = append(faults, errors.New("router: the neighbour table stays as large as it is"))
	}
	return errors.Join(faults...)
}

// Reconfigure changes the router to a valid configuration that it can become. Neighbours, and the
// frames that wait for them, stay. Of the routes those change that differ from the ones that old
// had; what AddRoute and RemoveRoute did besides stays, unless cfg has a route for the prefix.
func (r *Router) Reconfigure(now unit.Time, old []Route, cfg RouterConfig) {
	kept := make(map[netip.Prefix]bool, len(cfg.Routes))
	for i := range cfg.Routes {
		kept[cfg.Routes[i].Prefix] = true
	}
	for i := range old {
		if g, ok := r.table.Get(old[i].Prefix); ok && g.Kind == Via && !kept[old[i].Prefix] {
			r.table.Delete(old[i].Prefix)
			r.release(g)
		}
	}
	for i := range cfg.Routes {
		g, there := r.table.Get(cfg.Routes[i].Prefix)
		r.insert(&cfg.Routes[i])
		if there && g.Kind == Via {
			r.release(g)
		}
	}
	r.reconfigureStatic(now, cfg.Neighbours.Static)
	n := r.Neighbours
	n.cfg = cfg.Neighbours.withDefaults()
	n.poll = n.cfg.poll()
	r.seed = mix(cfg.Seed)
	cfg.Interfaces, cfg.Routes = r.cfg.Interfaces, nil
	r.cfg = cfg
}

// reconfigureStatic removes the static neighbours that the configuration had and has no more, and
// adds the new ones. One that is being asked for at this moment, or for which there is no room, is
// counted as one that did not fit.
func (r *Router) reconfigureStatic(now unit.Time, static []StaticNeighbour) {
	n := r.Neighbours
	for _, e := range r.cfg.Neighbours.Static {
		on, _ := r.cfg.Connected(e.Addr)
		if slices.Contains(static, e) || !n.isStatic(on, e) {
			continue
		}
		n.expire(now, on, e.Addr)
	}
	for _, e := range static {
		on, _ := r.cfg.Connected(e.Addr)
		if err := n.AddStatic(now, on, e.Addr, e.MAC); err != nil {
			n.Stats.Full++
		}
	}
}
