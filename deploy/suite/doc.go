// Package suite reproduces measurements.
//
// An Experiment is one measured result of a paper. It is made of cells, which are runs that do not
// need each other: one point of a figure with one seed. A cell says what it found as numbers and
// series (Outcome); the experiment's Judge makes claims and figures of what all cells found
// (Verdict). So cells run side by side on all cores, an interrupt loses only those under way, and
// judging can be done again without running anything.
//
// Package papers has the experiments; package scenario runs traffic on a fabric for a cell.
package suite
