package switchd

import (
	"net/http"

	"github.com/rocelab/rocelab/dataplane"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/switchd/pipeline"
)

// build makes the machine and its pool.
func (c *Config) build(m pipeline.Config) (*pipeline.Switch, *frame.Pool, error) {
	pool := frame.NewPool(c.poolFrames(&m), daemon.FrameSize(c.Ports))
	sw, err := pipeline.New(m, pool)
	return sw, pool, err
}

// outside is how many frames a switch has in hand that are not in its buffer: on their way in, and
// its own.
const outside = 16384

// poolFrames is how many frames the switch may hold. If the configuration does not say, the buffer
// is what bounds them, and not the emulator: as many as it has room for if all are the shortest.
func (c *Config) poolFrames(m *pipeline.Config) int {
	if c.Frames != 0 {
		return c.Frames
	}
	n := unit.Bytes(outside)
	for _, p := range m.Pools {
		n += p.Size / max(m.Cell, wire.MinFrame)
	}
	return int(n)
}

// Virtual is the switch for a driver in virtual time.
func (c *Config) Virtual() (*daemon.Virtual, error) {
	machine, err := c.Machine()
	if err != nil {
		return nil, err
	}
	sw, pool, err := c.build(machine)
	if err != nil {
		return nil, err
	}
	o := c.observe(sw)
	return &daemon.Virtual{Device: sw, Pool: pool, Ports: c.Ports, MAC: c.portMAC,
		Handle: func(run daemon.Executor, mux *http.ServeMux) {
			o.sampleBy(run)
			o.handle(mux)
		}}, nil
}

// observer shows a switch, whoever drives it.
type observer struct {
	cfg     *Config // that it was made of
	run     daemon.Executor
	sw      *pipeline.Switch
	names   map[string]dataplane.PortID
	sampler *daemon.Sampler
	sampled *Sampled // once the last sample was taken
	snap    pipeline.Snapshot
}

func (c *Config) observe(sw *pipeline.Switch) *observer {
	o := &observer{cfg: c, sw: sw, names: make(map[string]dataplane.PortID)}
	for i, p := range c.Ports {
		o.names[p.Name] = dataplane.PortID(i)
	}
	return o
}

func (s *observer) sampleBy(run daemon.Executor) {
	s.run, s.sampler = run, daemon.NewSampler(run)
}

func (s *observer) handle(mux *http.ServeMux) {
	daemon.Handle(mux, "POST /v1/sample", s.sample)
	daemon.Handle(mux, "GET /v1/sample", func(struct{}) (daemon.Samples, error) {
		return s.sampler.Samples()
	})
	daemon.Handle(mux, "GET /v1/sampled", func(struct{}) (out Sampled, err error) {
		err = daemon.Do(s.run, func(unit.Time) error {
			if s.sampled == nil {
				return daemon.ErrSampling
			}
			out = *s.sampled
			return nil
		})
		return out, err
	})
	daemon.Handle(mux, "GET /v1/state", s.state)
	daemon.Handle(mux, "GET /v1/waits", s.waits)
	daemon.Handle(mux, "POST /v1/watermarks/clear", s.clearWatermarks)
	s.handleForwarding(mux)
}
