// Package switchplan is the conformance suite of the switch. Its tests carry the names of the cases
// in the test plans that switch vendors and operators run on hardware: the QoS SAI tests of SONiC,
// and the traffic-generator plans for PFC, PFC watchdog, ECN and scheduling. The cases say what to
// check; how, and every line here, is our own.
//
//	      links with rate and delay
//	tester ======================== switch      one of each, port n wired to port n
//
// The tester is a pure device, as the switch is: it sends given frames at given times and keeps
// everything that arrives, with times. A case is one function over a bench. It runs twice: in
// virtual time (dataplane/sim, the Go classifier) and on real frames (two loops over AF_XDP on
// veth, the XDP program). Limits that a case expects are computed from the configuration it runs
// with. After each case the accounts of both devices are checked, and that everything one sent has
// reached the other.
//
// Real frames are exact (dataplane/loop): every frame that the tester receives there must be the
// one that it receives in virtual time, at the same nanosecond, in every case.
//
// The suite writes docs/conformance.md, with what every case found beside what the configuration
// says.
package switchplan
