package papers

import (
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/deploy/suite"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/switchd/sonic"
)

// scaleExperiments are those of [RDMA at scale].
func scaleExperiments() []suite.Experiment {
	return []suite.Experiment{
		scaleDSCPPFC(),
		scaleLivelock(),
		scalePauseStorm(),
		scaleDeadlock(),
		scaleSlowReceiver(),
		scaleBufferAlpha(),
		scaleConfigDrift(),
		scalePingmesh(),
		scaleECMPUtilisation(),
		scaleIsolation(),
	}
}

// scaleLinks are the links of [RDMA at scale]: 40GbE everywhere (sections 2 and 5.4). Cables are 2
// to 300 m long there (section 2), which is 10 ns to 1.5 us; with what a switch takes to forward, a
// hop is about this.
var scaleLinks = fabric.Links{Rate: 40 * unit.GbPerSecond, Delay: time.Microsecond}

// both are the modes of an experiment that also runs on real frames.
var both = []suite.Mode{suite.Virtual, suite.Real}

// byCell finds an outcome by the name of its cell. What is not there has no numbers.
func byCell(found []suite.Outcome, name string) suite.Outcome {
	for _, o := range found {
		if o.Cell == name {
			return o
		}
	}
	return suite.Outcome{}
}

// times is a duration that depends on the mode: real frames take a second for about a millisecond.
func times(o suite.Options, virtual, real time.Duration) time.Duration {
	if o.Mode == suite.Real {
		return real
	}
	return virtual
}

// planned is an entry of a plan of faults, in its text form.
func planned(text string) lab.Fault {
	f, err := lab.ParseFault(text)
	if err != nil {
		panic("papers: " + err.Error())
	}
	return f
}

// paperAlpha is the share of the free buffer that one priority of a port may have: "worked well in
// our production network", section 6.2.
var paperAlpha = sonic.Alpha{Num: 1, Den: 16}

// own gives a node settings of its own, in the words of its daemon's configuration.
func own(t *lab.Topology, node, text string) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		panic("papers: " + err.Error())
	}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if n.Name != node {
			continue
		}
		to := &n.Switch
		if n.Kind == lab.Host {
			to = &n.NIC
		}
		if to.IsZero() {
			*to = *doc.Content[0]
		} else {
			to.Content = append(to.Content, doc.Content[0].Content...)
		}
	}
}

// receiveSide gives NICs a receive buffer, by which they can pause their switch. The paper gives no
// sizes; these are the example of nicd's sample configuration.
func receiveSide(c *nicd.ReceiveConfig) {
	c.Buffer, c.Lossy, c.XOFF, c.XON = 256*unit.KB, 128*unit.KB, 128*unit.KB, 96*unit.KB
}
