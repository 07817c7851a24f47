// Package workload is the user's own scenario: a file that says on which network who sends what to
// whom, what goes wrong and when, and what is expected. It runs in virtual time and on real frames,
// over seeds and over any of its settings (Sweep).
//
//	name: incast
//	fabric: {star: {hosts: 5}, links: {rate: 40Gb/s, delay: 1us}}
//	nic: {cc: {algorithm: dcqcn}}
//	duration: 20ms
//	traffic:
//	  - {name: bulk, from: "h[1-4]", to: h5}
//	expect:
//	  - {what: bulk.goodput_gbps, min: 36}
//
// A file becomes an experiment of package suite, whose cells are the seeds.
package workload
