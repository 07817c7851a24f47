// Package topologies has the topology files of this folder, for programs that want one wherever
// they run.
package topologies

import _ "embed"

// Deadlock is deadlock.yaml: [RDMA at scale] figure 4.
//
//go:embed deadlock.yaml
var Deadlock string
