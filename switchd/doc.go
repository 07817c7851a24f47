// Package switchd is the software lossless switch as a daemon: configuration, metrics and control
// calls around the machine in switchd/pipeline.
package switchd
