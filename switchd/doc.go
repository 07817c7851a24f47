// Package switchd is the software lossless switch as a daemon: configuration, metrics and control
// calls around the machine in switchd/pipeline.
package switchd

import _ "embed"

// Sample is the configuration that `switchd -sample` prints: the defaults, with comments.
//
//go:embed sample.yaml
var Sample string
