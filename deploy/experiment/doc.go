// Package experiment runs scenarios on a lab of real frames and reports what happened.
//
// An experiment is: build a lab, connect queue pairs, start samplers and a capture, let the clock
// run to the end of the scenario, stop it, collect every counter and series, judge the run
// (certificate), remove the lab.
package experiment
