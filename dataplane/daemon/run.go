package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/rocelab/rocelab/bpf"
	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// Spec is what a daemon is made of.
type Spec struct {
	Common Common
	Kind   string // metrics prefix: switchd or nicd
	Ports  []PortConfig
	Device dataplane.Device
	Pool   *frame.Pool
	// Load loads the program of a port. In cfg is what its device needs; the map is the loader's.
	Load func(port int, cfg bpf.PortConfig) (*bpf.Program, error)
	MAC  func(port int) wire.MAC // of PFC frames that a fault sends out of the port; may be nil
	Log  *slog.Logger
	// Filtered is told of frames that a program dropped by the watchdog's verdict; see loop.Config.
	Filtered func(port dataplane.PortID, class uint8, n dataplane.Count)
}

// Daemon is a machine with its loop, control socket and metrics.
type Daemon struct {
	Loop    *loop.Loop
	Control *http.ServeMux
	Metrics *prometheus.Registry

	spec   Spec
	events *eventLog

	capturing sync.Mutex // of capture: requests come at any time
	capture   *portCapture
}

// New opens the clock and the ports. Nothing moves before Run.
func New(spec Spec) (*Daemon, error) {
	if os.Geteuid() != 0 && len(spec.Ports) > 0 {
		spec.Log.Debug("not root: relying on CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF and CAP_IPC_LOCK")
	}
	clk, links, err := spec.Common.Clock.open(spec.Ports)
	if err != nil {
		return nil, err
	}
	if spec.MAC == nil {
		spec.MAC = func(int) wire.MAC { return wire.MAC{} }
	}
	p := &ports{node: spec.Common.Name, netns: spec.Common.Netns, mac: spec.MAC,
		frame: spec.Pool.Size(), load: spec.Load, log: spec.Log}
	wires, err := p.openAll(spec.Ports)
	if err != nil {
		return nil, err
	}
	d := &Daemon{
		Control: http.NewServeMux(),
		Metrics: prometheus.NewRegistry(),
		spec:    spec,
		events:  newEventLog(),
	}
	d.Loop, err = loop.New(loop.Config{Device: spec.Device, Pool: spec.Pool, Clock: clk,
		Links: links, Ports: wires, Log: spec.Log, OnFault: d.onFault, OnLink: d.onLink,
		Filtered: spec.Filtered})
	if err != nil {
		for _, w := range wires {
			w.Wire.Close()
		}
		return nil, err
	}
	d.Metrics.MustRegister(&loopCollector{loop: d.Loop, kind: spec.Kind, ports: spec.Ports},
		newEventCollector(d.Loop, d.events, spec.Kind))
	d.handleEvents()
	FaultCalls(d.Control, d.Loop, d.Loop.Faults(), "")
	d.handleCapture()
	return d, nil
}

// Run serves until ctx ends or the loop fails, then closes everything in order.
func (d *Daemon) Run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	servers, err := d.listen()
	if err != nil {
		d.Loop.Close()
		return err
	}
	stopWatch := make(chan struct{})
	defer close(stopWatch)
	p := &ports{netns: d.spec.Common.Netns}
	if len(d.spec.Ports) > 0 {
		if err := p.watch(d.Loop, d.spec.Ports, stopWatch); err != nil {
			closeAll(servers)
			d.Loop.Close()
			return err
		}
	}
	for _, s := range servers {
		go func() {
			if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
				cancel(fmt.Errorf("serve %s: %w", s.listener.Addr(), err))
			}
		}()
	}
	d.spec.Log.Info("running", "ports", len(d.spec.Ports), "control", d.spec.Common.Control,
		"metrics", d.spec.Common.Metrics)
	logged := make(chan struct{})
	go func() {
		defer close(logged)
		d.events.write(d.spec.Log)
	}()
	err = d.Loop.Run(ctx)
	closeAll(servers)
	close(d.events.lines) // nobody records any more
	<-logged
	if e := d.endCapture(); err == nil {
		err = e
	}
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	d.spec.Log.Info("stopped")
	return err
}

type server struct {
	server   *http.Server
	listener net.Listener
}

// listen binds both endpoints before anything runs, so that a taken address is a clear failure.
func (d *Daemon) listen() (all []server, err error) {
	if path := d.spec.Common.Control; path != "" {
		l, err := listenControl(path)
		if err != nil {
			return nil, err
		}
		all = append(
			all,
			server{&http.Server{Handler: d.Control, ReadTimeout: 10 * time.Second}, l},
		)
	}
	if addr := d.spec.Common.Metrics; addr != "" {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			closeAll(all)
			return nil, fmt.Errorf("metrics endpoint: %w", err)
		}
		mux := http.NewServeMux()
		mux.Handle("/metrics", promhttp.HandlerFor(d.Metrics, promhttp.HandlerOpts{}))
		mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte("ok\n"))
		})
		all = append(all, server{&http.Server{Handler: mux, ReadTimeout: 10 * time.Second}, l})
	}
	return all, nil
}

func closeAll(servers []server) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, s := range servers {
		_ = s.server.Shutdown(ctx) // a client that hangs is cut off by the deadline
		_ = s.listener.Close()     // closed by Shutdown if it served
	}
}
