package loop

import (
	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
)

// Filter is a Wire that can drop data frames of some traffic classes where they arrive, before
// anybody has copied them: the watchdog's verdict, enforced by the XDP program.
//
// What it drops never comes out of Receive. The machine gets its account (Config.Filtered), and of
// the frames that the sender has told of, the clock must not wait for any.
type Filter interface {
	// SetFilter has the data frames of these classes dropped, bit n for class n, and no others.
	SetFilter(classes uint8) error
	// Filtered is what was dropped so far. It makes no system call.
	Filtered() Filtered
}

// Filtered counts dropped frames since a wire was opened.
type Filtered struct {
	Classes [classify.Classes]dataplane.Count
	Told    uint64 // those of kinds whose arrival their sender tells; see FarEnd
}

// filter is what a port knows of its wire's filter.
type filter struct {
	on      bool // a verdict was given once; drops are looked for from then on
	classes uint8
	seen    Filtered // up to what the machine has the account
	missing uint64   // dropped frames that are still among those on their way
}

// SetFilter has the data frames of these classes dropped as they arrive on a port, also when its
// wire is opened anew, if the wire can do that. For the loop's thread only.
func (l *Loop) SetFilter(id dataplane.PortID, classes uint8) error {
	p := l.ports[id]
	p.filter.classes = classes
	p.filter.on = p.filter.on || classes != 0
	return p.setFilter()
}

func (p *port) setFilter() error {
	if f, ok := p.Wire.(Filter); ok && p.filter.on {
		return f.SetFilter(p.filter.classes)
	}
	return nil
}

// filtered accounts for what the wire has dropped since it was asked last.
func (p *port) filtered() {
	wire, ok := p.Wire.(Filter)
	if !ok || !p.filter.on {
		return
	}
	got, f := wire.Filtered(), &p.filter
	for class := range got.Classes {
		now, last := got.Classes[class], f.seen.Classes[class]
		if now != last && p.loop.cfg.Filtered != nil {
			p.loop.cfg.Filtered(p.id, uint8(class),
				dataplane.Count{Frames: now.Frames - last.Frames, Bytes: now.Bytes - last.Bytes})
		}
	}
	f.missing += got.Told - f.seen.Told
	f.seen = got
}

// excuse takes up to n frames that the wire dropped from those that did not come, and returns how
// many are left: the kernel lost them. A frame that was told of has passed the program after all
// that were dropped before it, so their drops can be seen.
func (p *port) excuse(n int) (lost int) {
	if uint64(n) > p.filter.missing {
		p.filtered()
	}
	excused := min(uint64(n), p.filter.missing)
	p.filter.missing -= excused
	return n - int(excused)
}

// settleFiltered takes the frames that the wire dropped off their way. Which ones they are can only
// be told when all that are on their way were dropped, or when a later one comes (excuse). The
// drops were counted before this is asked, and none was dropped before it was on its way.
func (p *port) settleFiltered() {
	f := &p.filter
	if f.missing == 0 {
		return
	}
	links, link := p.loop.cfg.Links, p.RxLink
	if n := links.OnTheWay(link); uint64(n) <= f.missing {
		links.Forget(link, n)
		f.missing = 0
	}
}

// filtering reports whether frames may be dropped for which the clock waits. Nobody wakes the loop
// for them, so it does not sleep for long.
func (p *port) filtering() bool { return p.filter.classes != 0 && p.RxLink != NoLink }
