package qos

import (
	"math"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/ratelimit"
)

func TestShapeValidate(t *testing.T) {
	good := ShaperConfig{Port: Shape{Max: 10 * unit.GbPerSecond}}
	good.Queues[3] = Shape{Min: 1e9, Max: 1e9, MinBurst: 8192, MaxBurst: ratelimit.MaxBurst}
	good.Queues[4] = Shape{Max: PacketRate(1000), MaxBurst: 10, Meter: Packets}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for want, s := range map[string]Shape{
		"queue 2: rates":        {Max: -1},
		"queue 2: minimum rate": {Min: 2, Max: 1},
		"queue 2: bursts":       {MaxBurst: ratelimit.MaxBurst + 1},
		"queue 2: unit 2":       {Meter: 2},
	} {
		c := ShaperConfig{}
		c.Queues[2] = s
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	c := ShaperConfig{Port: Shape{Min: 1}}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "port: a minimum") {
		t.Error(err)
	}
}

func TestQCNValidate(t *testing.T) {
	for want, change := range map[string]func(*QCNConfig){
		"equilibrium":   func(c *QCNConfig) { c.Qeq = 0 },
		"W NaN":         func(c *QCNConfig) { c.W = math.NaN() },
		"W -1":          func(c *QCNConfig) { c.W = -1 },
		"sampling base": func(c *QCNConfig) { c.Base = 0 },
		"jitter":        func(c *QCNConfig) { c.Jitter = 1 },
		"65 bytes":      func(c *QCNConfig) { c.Headers = 65 },
	} {
		c := NetFPGA()
		change(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	for _, c := range []QCNConfig{{}, NetFPGA()} {
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
	}
	if c := NetFPGA(); !c.On() || (&QCNConfig{}).On() {
		t.Error("on and off are mixed up")
	}
}
