package papers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/rocelab/rocelab/dataplane/netspace"
	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/scenario"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/nicd/app"
)

func scaleIsolation() suite.Experiment {
	return suite.Experiment{
		ID: "scale-rdma-tcp-isolation", Paper: atScale, Where: "sections 2 and 5.4, figure 8",
		Modes: []suite.Mode{suite.Real}, Seeds: 1,
		Title: "The kernel's TCP in a lossy class of its own, through the switch port that RDMA " +
			"congests: its 99th percentile before and during.",
		Shorter: "3 ms before the load and 5 ms of it, on one switch with three hosts.",
		Cells: func(suite.Options) []suite.Cell {
			return []suite.Cell{{Name: isolationCell, Run: runIsolation}}
		},
		Judge: judgeIsolation,
	}
}

const isolationCell = "one switch"

const (
	isolationLoad = 3 * time.Millisecond // begins
	isolationEnd  = 8 * time.Millisecond
	// isolationK is the dilation: one for all of the run, so that what the kernel itself takes is
	// the same part of a microsecond before and during the load.
	isolationK = 1000
	// isolationConnections are asked one after the other by each, as a TCP pingmesh does.
	isolationConnections = 4
)

// isolation is two hosts that write to a third, and a pingmesh among them. Without congestion
// control the port is congested as soon and as much as PFC lets it be, which is the worst for TCP.
func isolation(seen *meshSeen) *scenario.Scenario {
	*seen = nil
	t := fabric.Star("isolation", 3, scaleLinks)
	t.NIC.CC.Algorithm = "none"
	*t.Switch.Lossless.DynamicTh = paperAlpha
	t.Pingmesh = lab.Pingmesh{Interval: 500 * time.Microsecond}
	s := &scenario.Scenario{Topology: t, Duration: isolationEnd,
		Interval: 100 * time.Microsecond, Flows: scenario.Many("h3",
			nicd.FlowRequest{StartNs: isolationLoad.Nanoseconds()}, "h1", "h2")}
	for _, at := range []time.Duration{isolationLoad, isolationEnd} {
		s.Probes = append(s.Probes, scenario.Probe{At: at, Look: seen.look(at, &t)})
	}
	return s
}

func runIsolation(ctx context.Context, env suite.Env) (out suite.Outcome, err error) {
	var seen meshSeen
	s := isolation(&seen)
	k := env.Dilation
	if k == 0 {
		k = isolationK
	}
	c := &s.Topology.Clock
	c.Start, c.Min, c.Max = k, k, k
	tcp := &tcpMesh{}
	asking, stop := context.WithCancel(ctx)
	defer stop()
	r, err := s.Real(ctx, scenario.RealOptions{Log: env.Log, Tell: env.Tell,
		Ready: func(_ context.Context, l *lab.Lab) error {
			return tcp.begin(asking, l, "h1", "h3")
		},
		Closing: func() { stop(); tcp.all.Wait() }})
	if err = errors.Join(err, tcp.err); err != nil {
		return out, fmt.Errorf("%s: %w", isolationCell, err)
	}
	for _, check := range r.Certificate.Checks {
		if !check.OK && check.Name != scenario.CheckTwin {
			return out, fmt.Errorf("%s: %s: %s, want %s", isolationCell, check.Name, check.Value,
				check.Limit)
		}
	}
	out = suite.Outcome{Cell: isolationCell, Parameters: s.Parameters(), Clock: r.Clock,
		Numbers: map[string]float64{}, Series: map[string]suite.Series{}}
	tcp.measure(&out)
	load, end := seen.at(isolationLoad), seen.at(isolationEnd)
	out.Numbers["RDMA before"], _ = between(meshLook{}, load, 0.99)
	out.Numbers["RDMA during"], _ = between(load, end, 0.99)
	out.Numbers["goodput"] = r.GoodputIn(0, isolationLoad, isolationEnd) +
		r.GoodputIn(1, isolationLoad, isolationEnd)
	return out, nil
}

// tcpMesh asks a host over TCP connections of the kernel and takes how long each answer takes, in
// virtual time.
type tcpMesh struct {
	all  sync.WaitGroup
	mu   sync.Mutex
	x, y []float64 // ms at which it was asked, us until the answer
	err  error
}

const tcpPort = "5001"

// begin starts a server on a host and askers on another one. They end with ctx.
func (m *tcpMesh) begin(ctx context.Context, l *lab.Lab, from, to string) error {
	ip, _ := l.Topology.Address(to)
	at := net.JoinHostPort(ip.String(), tcpPort)
	var server net.Listener
	err := netspace.Do(l.Namespace(to), func() (err error) {
		server, err = (&net.ListenConfig{}).Listen(ctx, "tcp4", at)
		return err
	})
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { server.Close() })
	m.all.Go(func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return // the run is over
			}
			context.AfterFunc(ctx, func() { conn.Close() })
			m.all.Go(func() { _, _ = io.Copy(conn, conn) }) // echoes until the connection ends
		}
	})
	for range isolationConnections {
		m.all.Go(func() {
			if err := m.ask(ctx, l, from, at); ctx.Err() == nil {
				m.mu.Lock()
				m.err = errors.Join(m.err, err)
				m.mu.Unlock()
			}
		})
	}
	return nil
}

// ask sends as much as an RDMA probe has, and waits for it to come back, again and again until that
// fails, as it does when ctx ends.
func (m *tcpMesh) ask(ctx context.Context, l *lab.Lab, from, at string) error {
	var conn net.Conn
	err := netspace.Do(l.Namespace(from), func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(ctx, "tcp4", at)
		return err
	})
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { conn.Close() })
	probe := make([]byte, app.ProbeLen)
	for {
		start := l.Page.Status().Virtual
		if _, err := conn.Write(probe); err != nil {
			return err
		}
		if _, err := io.ReadFull(conn, probe); err != nil {
			return err
		}
		end := l.Page.Status().Virtual
		m.mu.Lock()
		m.x = append(m.x, float64(start)/1e6)
		m.y = append(m.y, float64(end-start)/1e3)
		m.mu.Unlock()
	}
}

// measure takes the quantiles before and during the load.
func (m *tcpMesh) measure(out *suite.Outcome) {
	var before, during []float64
	for i, ms := range m.x {
		switch at := time.Duration(ms * 1e6); {
		case at < isolationLoad:
			before = append(before, m.y[i])
		case at < isolationEnd:
			during = append(during, m.y[i])
		}
	}
	n := out.Numbers
	n["TCP probes before"], n["TCP probes during"] = float64(len(before)), float64(len(during))
	if len(before) > 0 && len(during) > 0 {
		n["TCP before"], n["TCP during"] = suite.Quantile(before, 0.99),
			suite.Quantile(during, 0.99)
	}
	out.Series["TCP"] = suite.Series{X: m.x, Y: m.y}
}

func judgeIsolation(_ suite.Options, found []suite.Outcome) (v suite.Verdict) {
	out := byCell(found, isolationCell)
	n := out.Numbers
	tcp, rdma := n["TCP during"]-n["TCP before"], n["RDMA during"]-n["RDMA before"]
	v.Claims = []suite.Claim{
		{Text: "the 99th percentile of RDMA rises with the RDMA load", Paper: "350", Ours: rdma,
			Unit: "us more", Rule: "> 0", Holds: rdma > 0},
		{Text: "that of TCP does not change", Paper: "500 us before and during", Ours: tcp,
			Unit: "us more", Rule: "less than a tenth of what RDMA's rises",
			Holds: n["TCP probes before"] >= 100 && n["TCP probes during"] >= 100 &&
				tcp < rdma/10},
	}
	v.Figures = []suite.Figure{{Title: "Figure 8: TCP latency as the RDMA load starts",
		X: suite.Axis{Label: "time", Unit: "ms"}, Y: suite.Axis{Label: "latency", Unit: "us"},
		Curves: []suite.Curve{{Name: "TCP", Kind: suite.Points, From: suite.Ours,
			Series: out.Series["TCP"]}}}}
	v.Notes = []string{
		fmt.Sprintf("99th percentiles: TCP %.1f us before and %.1f us during, of %.0f and %.0f "+
			"probes; RDMA %.1f and %.1f us. RDMA has %.1f Gb/s of the port.", n["TCP before"],
			n["TCP during"], n["TCP probes before"], n["TCP probes during"], n["RDMA before"],
			n["RDMA during"], n["goodput"]/1e9),
		"Most of the paper's 500 us are its hosts' kernels. In a lab a kernel works in real " +
			"time, of which a microsecond of virtual time has a thousand, so ours are links and " +
			"switch: what would change if TCP waited behind RDMA is the larger part.",
		"The kernel's packets are not in virtual time, so there is no twin to compare with; all " +
			"other checks of the certificate were passed.",
	}
	return v
}
