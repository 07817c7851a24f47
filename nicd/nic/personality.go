package nic

import (
	"github.com/rocelab/rocelab/roce/cc"
	"github.com/rocelab/rocelab/roce/qp"
)

// Personality is how a kind of NIC does what the standards leave to it: how it makes CNPs, when it
// acknowledges, and what it does about loss.
type Personality struct {
	CNP       CNPConfig
	Transport qp.Personality
}

// Book is the personality of the texts: CNPs by [DCQCN] figure 6, ACK, NAK and retransmission at
// once.
func Book() Personality {
	return Personality{CNP: CNPConfig{Interval: cc.DefaultCNPInterval}}
}

// Apply gives the configuration this personality.
func (p *Personality) Apply(c *Config) { c.CNP, c.QP.Personality = p.CNP, p.Transport }
