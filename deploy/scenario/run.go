package scenario

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/deploy/result"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/roce/ib"
	"github.com/rocelab/rocelab/switchd"
)

// Run is what happened in a scenario.
type Run struct {
	Scenario *Scenario
	Flows    []Flow // completed
	// Hash is of every sample and every counter of every node, in hexadecimal. Runs that have the
	// same hash are the same, whatever drove them.
	Hash string
	// Of a run on real frames.
	Clock       *result.Clock
	Certificate *result.Certificate
	Twin        *Run // the same scenario in virtual time

	sinks    []ib.QPN
	nodes    map[string]*node
	messages [][]nicd.Message // by flow
}

// node is what one node recorded.
type node struct {
	Samples daemon.Samples
	sw      switchd.Sampled // of a switch: what it had counted at the last sample
	nic     nicd.State      // of a host
	status  daemon.Status   // after the end; in virtual time only its ledger
}

// digest makes the hash, node by node in the order of the topology.
func (r *Run) digest() error {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, n := range r.Scenario.Topology.Nodes {
		one := r.nodes[n.Name]
		if err := errors.Join(enc.Encode(n.Name), enc.Encode(one.Samples), enc.Encode(one.sw),
			enc.Encode(one.nic)); err != nil {
			return fmt.Errorf("hash of the run: %s: %w", n.Name, err)
		}
	}
	r.Hash = hex.EncodeToString(h.Sum(nil))
	return nil
}
