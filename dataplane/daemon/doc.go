// Package daemon is what switchd and nicd have in common around their machines: strict YAML
// configuration, logging, the control socket, the metrics endpoint, ports on AF_XDP with their
// programs, and a clean end on signals.
package daemon
