// Package conform checks the contract between drivers and devices, on both sides.
//
// Monitor stands between any driver and any device and reports what either does wrong. The
// conformance tests run every device under every driver through it.
package conform

import (
	"fmt"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// Monitor is a Device that passes everything on to the one inside and checks the rules.
type Monitor struct {
	Faults []string // broken rules, at most maxFaults
	Calls  int

	dev   dataplane.Device
	ports int
	now   unit.Time
	stuck int
}

const maxFaults = 20

// stuckLimit is how many wakes in a row at one instant count as a device that makes no progress.
const stuckLimit = 1000

// Watch puts a monitor around a device with the given number of ports.
func Watch(dev dataplane.Device, ports int) *Monitor { return &Monitor{dev: dev, ports: ports} }

func (m *Monitor) fault(format string, args ...any) {
	if len(m.Faults) < maxFaults {
		m.Faults = append(m.Faults, fmt.Sprintf("%v: ", m.now)+fmt.Sprintf(format, args...))
	}
}

func (m *Monitor) enter(now unit.Time, call string) {
	m.Calls++
	if now < m.now {
		m.fault("driver: %s at %v, time went back", call, now)
	}
	if now != m.now {
		m.stuck = 0
	}
	m.now = now
}

func (m *Monitor) leave(call string) {
	l := m.dev.Ledger()
	if err := l.Check(); err != nil {
		m.fault("device: after %s: %v", call, err)
	}
}

// Receive checks port and metadata.
func (m *Monitor) Receive(now unit.Time, port dataplane.PortID, f *frame.Frame) {
	m.enter(now, "Receive")
	if int(port) >= m.ports {
		m.fault("driver: Receive on port %d of %d", port, m.ports)
	}
	if f.Meta.Arrived != now || f.Meta.Port != port {
		m.fault("driver: Receive with metadata of %v port %d", f.Meta.Arrived, f.Meta.Port)
	}
	m.dev.Receive(now, port, f)
	m.leave("Receive")
}

// Transmit passes the frame through.
func (m *Monitor) Transmit(now unit.Time, port dataplane.PortID) *frame.Frame {
	m.enter(now, "Transmit")
	f := m.dev.Transmit(now, port)
	m.leave("Transmit")
	return f
}

// Ready passes the set through.
func (m *Monitor) Ready() *dataplane.PortSet { return m.dev.Ready() }

// NextWake passes the deadline through.
func (m *Monitor) NextWake() unit.Time { return m.dev.NextWake() }

// Wake checks that it is not early and that the device makes progress.
func (m *Monitor) Wake(now unit.Time) {
	m.enter(now, "Wake")
	if at := m.dev.NextWake(); now < at {
		m.fault("driver: Wake at %v, before %v", now, at)
	}
	if m.stuck++; m.stuck == stuckLimit {
		m.fault("device: woken %d times at one instant", stuckLimit)
	}
	m.dev.Wake(now)
	m.leave("Wake")
}

// SetLink passes the change through.
func (m *Monitor) SetLink(now unit.Time, port dataplane.PortID, up bool) {
	m.enter(now, "SetLink")
	m.dev.SetLink(now, port, up)
	m.leave("SetLink")
}

// Ledger passes the account through.
func (m *Monitor) Ledger() dataplane.Ledger { return m.dev.Ledger() }
