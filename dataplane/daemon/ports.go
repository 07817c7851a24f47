package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/bpf"
	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/link"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/netspace"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/dataplane/xsk"
)

// ports opens a daemon's ports in its network namespace.
type ports struct {
	node  string // the daemon's name
	netns string
	mac   func(port int) wire.MAC
	frame int // bytes that a frame of the pool holds
	load  func(port int, cfg bpf.PortConfig) (*bpf.Program, error)
	log   *slog.Logger
}

// portWire is a socket together with the program that feeds it.
type portWire struct {
	*xsk.Socket
	prog *bpf.Program
}

// Stats adds what the program counted to what the socket did.
func (w *portWire) Stats() loop.WireStats {
	st := w.Socket.Stats()
	if c, err := w.prog.Counters(); err == nil {
		st.OnDevice = c.Received
	}
	return st
}

// SetFilter puts the watchdog's verdict into force.
func (w *portWire) SetFilter(classes uint8) error { return w.prog.SetWatchdog(classes) }

// Filtered reads what the program counts in shared memory.
func (w *portWire) Filtered() (n [classify.Classes]dataplane.Count) {
	for class := range n {
		n[class] = w.prog.Filtered(uint8(class))
	}
	return n
}

// Dropped reads what the program records there.
func (w *portWire) Dropped() (loop.Drop, bool) {
	d, ok := w.prog.Dropped()
	return loop.Drop(d), ok
}

// NextDrop goes on to the next record.
func (w *portWire) NextDrop() { w.prog.NextDrop() }

// Close detaches the program after the socket, so that no frame is redirected to nowhere.
func (w *portWire) Close() error {
	err := w.Socket.Close()
	if e := w.prog.Close(); err == nil {
		err = e
	}
	return err
}

// device finds the device of a port. The thread is in the network namespace, of which only the name
// is wanted.
func device(netns, name string) (netlink.Link, error) {
	dev, err := netlink.LinkByName(name)
	var missing netlink.LinkNotFoundError
	switch {
	case errors.As(err, &missing) && netns != "":
		return nil, fmt.Errorf("port %s: no such device in network namespace %s", name, netns)
	case errors.As(err, &missing):
		return nil, fmt.Errorf("port %s: no such device", name)
	case err != nil:
		return nil, fmt.Errorf("port %s: %w", name, err)
	}
	return dev, nil
}

func (p *ports) open(i int, cfg *PortConfig) (wire loop.Wire, err error) {
	err = netspace.Do(p.netns, func() error {
		dev, err := device(p.netns, cfg.Name)
		if err != nil {
			return err
		}
		if err := cfg.fits(dev, p.frame); err != nil {
			return err
		}
		// A program for one device sees more, but does not run on packet buffers, as it must on a
		// device without XDP.
		program := bpf.PortConfig{Device: dev.Attrs().Index}
		if cfg.RxLink != nil {
			program.Told = cfg.FarEnd.Told()
		}
		if wire, err = p.attach(i, dev, program); err != nil {
			program.Device = 0
			wire, err = p.attach(i, dev, program)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return wire, nil
}

// attach makes the wire of a device, with a program that is loaded as cfg says.
func (p *ports) attach(i int, dev netlink.Link, cfg bpf.PortConfig) (loop.Wire, error) {
	at := dev.Attrs()
	opts := xsk.OptionsFor(at.MTU)
	cfg.Frags = opts.Frags()
	prog, err := p.load(i, cfg)
	if err != nil {
		return nil, fmt.Errorf("port %s: load XDP program: %w", at.Name, err)
	}
	sock, err := xsk.Open(at.Index, prog.XSKMap(), opts)
	if err != nil {
		prog.Close()
		return nil, fmt.Errorf("port %s: bind %s queue 0: %w", at.Name, at.Name, err)
	}
	wire := &portWire{sock, prog}
	mode, err := prog.Attach(at.Index)
	if err != nil {
		wire.Close()
		return nil, fmt.Errorf("port %s: attach XDP program: %w", at.Name, err)
	}
	p.log.Info("port is up", "port", at.Name, "xdp", mode, "mtu", at.MTU)
	return wire, nil
}

// reopen is open for a port whose device went away: it must be back and have a carrier.
func (p *ports) reopen(i int, cfg *PortConfig) (wire loop.Wire, err error) {
	err = netspace.Do(p.netns, func() error {
		dev, err := netlink.LinkByName(cfg.Name)
		if err != nil {
			return err
		}
		if dev.Attrs().OperState != netlink.OperUp {
			return xsk.ErrDown
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return p.open(i, cfg)
}

func (p *ports) openAll(cfgs []PortConfig) (all []loop.Port, err error) {
	for i, cfg := range cfgs {
		wire, err := p.open(i, &cfg)
		if err != nil {
			for _, o := range all {
				o.Wire.Close()
			}
			return nil, err
		}
		all = append(all, loop.Port{
			Name: cfg.Name, Wire: wire,
			TxLink: number(cfg.TxLink), RxLink: number(cfg.RxLink),
			Far: cfg.FarEnd, FarIPv4: cfg.farIPv4(),
			MAC:  p.mac(i),
			Link: link.Config{Rate: cfg.Rate, Delay: cfg.Delay, Seed: cfg.LinkSeed(p.node)},
			Open: func() (loop.Wire, error) { return p.reopen(i, &cfg) },
		})
	}
	return all, nil
}

// farIPv4 is FarIPv4, or the zero value.
func (p *PortConfig) farIPv4() (ip netip.Addr) {
	if p.FarIPv4 != nil {
		ip = *p.FarIPv4
	}
	return ip
}

func number(link *int) int {
	if link == nil {
		return loop.NoLink
	}
	return *link
}

// watch tells the loop of devices that go away or down, until stop is closed.
func (p *ports) watch(l *loop.Loop, cfgs []PortConfig, stop <-chan struct{}) error {
	ours := make(map[string]bool)
	for _, c := range cfgs {
		ours[c.Name] = true
	}
	updates := make(chan netlink.LinkUpdate, 16)
	err := netspace.Do(p.netns, func() error {
		return netlink.LinkSubscribeWithOptions(updates, stop, netlink.LinkSubscribeOptions{
			ErrorCallback: func(error) {}, // ends the channel; the daemon is ending too
		})
	})
	if err != nil {
		return fmt.Errorf("watch links: %w", err)
	}
	go func() {
		for u := range updates {
			attrs := u.Attrs()
			gone := u.Header.Type == unix.RTM_DELLINK
			down := attrs.OperState == netlink.OperDown ||
				attrs.OperState == netlink.OperLowerLayerDown
			why := xsk.ErrDown
			switch {
			case !ours[attrs.Name]:
				continue
			case gone:
				why = xsk.ErrGone
			case !down:
				continue
			}
			if l.PortDown(attrs.Name, why) != nil {
				return // the loop has ended
			}
		}
	}()
	return nil
}
