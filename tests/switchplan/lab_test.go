package switchplan

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/rocelab/rocelab/bpf"
	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/netspace"
	"github.com/rocelab/rocelab/dataplane/xsk"
)

// maxPorts is how many ports a switch of the suite has at most.
const maxPorts = 4

// lab is the veth pairs of the suite, in a namespace of its own, with a socket and a program on
// each end. Making them takes longer than most cases, so all cases use the same.
type lab struct {
	ns   string
	ends [maxPorts][nodes]*end
}

// end is one end of a cable.
type end struct {
	*xsk.Socket
	prog *bpf.Program
}

// built is the lab, nil before the first case on real frames.
var built *lab

func theLab(t *testing.T) *lab {
	t.Helper()
	if built == nil {
		l := &lab{ns: fmt.Sprintf("rl-switchplan-%d", os.Getpid())}
		if err := l.open(); err != nil {
			t.Fatal(errors.Join(err, l.close()))
		}
		built = l
	}
	return built
}

func portName(i int) string { return fmt.Sprintf("swp%d", i+1) }

func (l *lab) open() error {
	if err := netspace.Create(l.ns); err != nil {
		return err
	}
	return netspace.Do(l.ns, func() error {
		for i := range l.ends {
			attrs := netlink.NewLinkAttrs()
			attrs.Name = portName(i)
			names := [nodes]string{attrs.Name, fmt.Sprintf("tg%d", i+1)}
			if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attrs,
				PeerName: names[theTester]}); err != nil {
				return fmt.Errorf("veth %s: %w", attrs.Name, err)
			}
			for n, name := range names {
				var err error
				if l.ends[i][n], err = openEnd(name); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
		return nil
	})
}

// openEnd raises a device, without the kernel's own IPv6 traffic, and puts a switch port's program
// and a socket on it: the tester, too, wants every frame.
func openEnd(name string) (*end, error) {
	quiet := "/proc/sys/net/ipv6/conf/" + name + "/disable_ipv6"
	if err := os.WriteFile(quiet, []byte("1"), 0o644); err != nil {
		return nil, err
	}
	dev, err := netlink.LinkByName(name)
	if err != nil {
		return nil, err
	}
	if err := netlink.LinkSetUp(dev); err != nil {
		return nil, err
	}
	e := &end{}
	if e.prog, err = bpf.LoadSwitch(bpf.PortConfig{Told: loop.Switch.Told()}); err != nil {
		return nil, err
	}
	if e.Socket, err = xsk.Open(dev.Attrs().Index, e.prog.XSKMap(),
		xsk.DefaultOptions); err != nil {
		return nil, errors.Join(err, e.prog.Close())
	}
	if _, err = e.prog.Attach(dev.Attrs().Index); err != nil {
		return nil, errors.Join(err, e.Socket.Close(), e.prog.Close())
	}
	return e, nil
}

func (l *lab) close() (err error) {
	for i := range l.ends {
		for _, e := range l.ends[i] {
			if e != nil {
				err = errors.Join(err, e.Socket.Close(), e.prog.Close())
			}
		}
	}
	return errors.Join(err, netns.DeleteNamed(l.ns))
}

// kept is an end that a case uses and leaves open.
type kept struct {
	*end
	before loop.WireStats // what other cases counted
	gone   drops
	filter [classify.Classes]uint64
}

// drops is what a program dropped of each class.
type drops [classify.Classes]dataplane.Count

// SetFilter puts the watchdog's verdict into force in the XDP program.
func (k *kept) SetFilter(classes uint8) error { return k.prog.SetWatchdog(classes) }

// Filtered is what the program dropped and did not record since the case took the end.
func (k *kept) Filtered() [classify.Classes]dataplane.Count {
	n := k.filtered()
	for class := range n {
		n[class].Frames -= k.gone[class].Frames
		n[class].Bytes -= k.gone[class].Bytes
	}
	return n
}

// Dropped is what the program recorded.
func (k *kept) Dropped() (loop.Drop, bool) {
	d, ok := k.prog.Dropped()
	return loop.Drop(d), ok
}

// NextDrop goes on to the next record.
func (k *kept) NextDrop() { k.prog.NextDrop() }

// watchdog is how many frames of a class the program dropped since the case took the end.
func (k *kept) watchdog(class uint8) (uint64, error) {
	c, err := k.prog.Counters()
	return c.Watchdog[class] - k.filter[class], err
}

func (e *end) filtered() (n drops) {
	for class := range n {
		n[class] = e.prog.Filtered(uint8(class))
	}
	return n
}

// Close leaves the socket to the next case.
func (*kept) Close() error { return nil }

// take lends an end to a case. The program classifies by the given map; what a case before left in
// the socket is gone.
func (l *lab) take(t *testing.T, port int, at node, m classify.Map) *kept {
	t.Helper()
	e := l.ends[port][at]
	if err := errors.Join(e.prog.SetMap(m), e.prog.SetWatchdog(0)); err != nil {
		t.Fatal(err)
	}
	drain(e)
	n, err := e.prog.Counters()
	if err != nil {
		t.Fatal(err)
	}
	return &kept{end: e, before: e.Stats(), gone: e.filtered(), filter: n.Watchdog}
}

// drain empties the socket and the program's records.
func drain(e *end) (n int) {
	for _, ok := e.prog.Dropped(); ok; _, ok = e.prog.Dropped() {
		e.prog.NextDrop()
	}
	pool := frame.NewPool(64, frameSize)
	var got [64]loop.Arrival
	for {
		k := e.Receive(pool, got[:])
		for i := range got[:k] {
			got[i].Frame.Release()
		}
		if n += k; k == 0 {
			return n
		}
	}
}
