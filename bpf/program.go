package bpf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/shm"
)

// PortConfig is what a program is told when it is loaded.
type PortConfig struct {
	Map classify.Map
	// Frags says that frames may be longer than a page holds beside what the kernel keeps there:
	// on a veth, those of an MTU above 3506 bytes. It needs kernel 5.18.
	Frags bool
	// Device is the number of the only device that the program will be attached to; 0: any. It can
	// then see VLAN tags that the kernel keeps beside a frame, where kernel (6.8) and device can
	// tell them.
	Device int
	// Told is the kinds of frames whose arrival the sender tells the lab's clock of. The program of
	// a switch port leaves records of those of them that it drops.
	Told frame.Kinds
	// IPv4 is the address for which a NIC's socket gets ARP requests; invalid: the kernel does.
	IPv4 netip.Addr
}

// Mode says how the kernel runs a program.
type Mode string

// The modes.
const (
	Native  Mode = "native"  // in the driver, before the kernel has made a packet buffer
	Generic Mode = "generic" // on packet buffers: slower, and the driver need not know XDP
)

// Program is one loaded XDP program with maps of its own. It is not safe for concurrent use.
type Program struct {
	name  string
	prog  *ebpf.Program
	maps  struct{ config, counts, xsks *ebpf.Map }
	drops *shm.Words // what it dropped; nil if the program filters nothing
	link  link.Link
	cfg   portConfig
}

// portConfig is the value of the config map; rocelab.h has its twin.
type portConfig struct {
	Trust    uint8
	Default  uint8
	Watchdog uint8
	_        uint8
	Told     uint32
	IPv4     uint32
	PCP      [8]uint8
	DSCP     [64]uint8
}

// LoadSwitch loads the program of a switch port.
func LoadSwitch(cfg PortConfig) (*Program, error) {
	spec, err := loadSwitchPort()
	if err != nil {
		return nil, err
	}
	return load(spec, switchPortProgSwitchPort, switchPortProgSwitchPortTag, cfg)
}

// LoadNIC loads the program of a NIC.
func LoadNIC(cfg PortConfig) (*Program, error) {
	spec, err := loadNic()
	if err != nil {
		return nil, err
	}
	return load(spec, nicProgNic, nicProgNicTag, cfg)
}

// fragsVariable is in rocelab.h.
const fragsVariable = "frags"

// load loads the program of the first name, or, if there is a device, that of the second if it can.
func load(spec *ebpf.CollectionSpec, name, tag string, cfg PortConfig) (*Program, error) {
	// Kernels before 5.11 charge maps to RLIMIT_MEMLOCK; later ones need nothing.
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("load XDP program %s: raise RLIMIT_MEMLOCK: %w", name, err)
	}
	if cfg.Device != 0 {
		one := spec.Copy()
		delete(one.Programs, name)
		one.Programs[tag].Ifindex = uint32(cfg.Device)
		one.Programs[tag].Flags |= unix.BPF_F_XDP_DEV_BOUND_ONLY
		if p, err := loadOne(one, tag, cfg); err == nil {
			return p, nil
		}
	}
	delete(spec.Programs, tag)
	return loadOne(spec, name, cfg)
}

func loadOne(spec *ebpf.CollectionSpec, name string, cfg PortConfig) (*Program, error) {
	if cfg.Frags {
		if err := spec.Variables[fragsVariable].Set(uint8(1)); err != nil {
			return nil, fmt.Errorf("load XDP program %s: %w", name, err)
		}
		spec.Programs[name].Flags |= unix.BPF_F_XDP_HAS_FRAGS
	}
	coll, err := ebpf.NewCollection(spec)
	if err != nil {
		return nil, fmt.Errorf("load XDP program %s: %w", name, err)
	}
	defer coll.Close()
	p := &Program{name: name, prog: coll.DetachProgram(name)}
	p.cfg.Told = uint32(cfg.Told)
	if cfg.IPv4.Is4() {
		ip := cfg.IPv4.As4()
		p.cfg.IPv4 = binary.BigEndian.Uint32(ip[:])
	}
	p.maps.config = coll.DetachMap(switchPortMapConfig)
	p.maps.counts = coll.DetachMap(switchPortMapCounts)
	p.maps.xsks = coll.DetachMap(switchPortMapXsks)
	err = p.mapDrops(coll.DetachMap(switchPortMapFiltered))
	if err := errors.Join(err, p.SetMap(cfg.Map)); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// XSKMap is where the descriptor of an AF_XDP socket goes under the number of its queue.
func (p *Program) XSKMap() *ebpf.Map { return p.maps.xsks }

// SetMap changes how traffic classes are chosen, from the next frame on.
func (p *Program) SetMap(m classify.Map) error {
	if err := m.Validate(); err != nil {
		return err
	}
	p.cfg.Trust, p.cfg.Default, p.cfg.PCP, p.cfg.DSCP = uint8(m.Trust), m.Default, m.PCP, m.DSCP
	return p.writeConfig()
}

// SetWatchdog has the data frames of these traffic classes dropped, bit n for class n, and those of
// no others. It is for a switch port; a NIC's program drops none.
func (p *Program) SetWatchdog(classes uint8) error {
	p.cfg.Watchdog = classes
	return p.writeConfig()
}

func (p *Program) writeConfig() error {
	if err := p.maps.config.Put(uint32(0), &p.cfg); err != nil {
		return fmt.Errorf("write configuration of %s: %w", p.name, err)
	}
	return nil
}

// Attach puts the program on a device, in the driver if it can. A device that it was on before
// loses it. The program comes off when the process ends, however it ends.
func (p *Program) Attach(ifindex int) (Mode, error) {
	if err := p.Detach(); err != nil {
		return "", err
	}
	opts := link.XDPOptions{Program: p.prog, Interface: ifindex, Flags: link.XDPDriverMode}
	mode := Native
	l, err := link.AttachXDP(opts)
	if errors.Is(err, unix.EOPNOTSUPP) {
		mode, opts.Flags = Generic, link.XDPGenericMode
		l, err = link.AttachXDP(opts)
	}
	if err != nil {
		return "", fmt.Errorf("attach XDP program %s to device %d, %s: %w",
			p.name, ifindex, mode, err)
	}
	p.link = l
	return mode, nil
}

// Detach takes the program off its device; nothing if it is on none.
func (p *Program) Detach() error {
	if p.link == nil {
		return nil
	}
	err := p.link.Close()
	p.link = nil
	if err != nil {
		return fmt.Errorf("detach XDP program %s: %w", p.name, err)
	}
	return nil
}

// Close detaches and unloads the program.
func (p *Program) Close() error {
	return errors.Join(p.Detach(), p.unmapDrops(), p.prog.Close(), p.maps.config.Close(),
		p.maps.counts.Close(), p.maps.xsks.Close())
}
