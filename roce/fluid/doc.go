// Package fluid is the fluid model of DCQCN: [DCQCN] section 5.1, equations 5 to 11.
//
// N greedy flows share a bottleneck. Their rates, targets, alphas and the queue are smooth
// functions of time that obey delay-differential equations; nothing is random and no packet
// exists. The model is solved by the classical Runge-Kutta method of order 4 with a fixed step that
// divides the delay, so that what the equations want of the past is known: at whole steps as it
// was computed, half-way between two by the cubic that has the values and the slopes of both.
//
// Two things the paper leaves open are decided here.
//
//   - The interval of the rate decrease, tau in equations 8 and 9, is in neither of the paper's
//     tables. It is how often a flow can be told to slow down: the interval of CNPs, N.
//   - Packets: the exponents of equations 7 to 9 count packets, so rates in them are in packets
//     a second and the byte counter is in packets. Their size is a parameter.
//
// [DCQCN] is "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015.
package fluid
