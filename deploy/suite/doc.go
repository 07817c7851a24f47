// Package suite reproduces measurements.
//
// An Experiment is one measured result of a paper. It is made of cells, which are runs that do not
// need each other: one point of a figure with one seed. A cell says what it found as numbers and
// series (Outcome); the experiment's Judge makes claims and figures of what all cells found
// (Verdict). So cells run side by side on all cores, an interrupt loses only those under way, and
// judging can be done again without running anything.
//
// A Suite runs experiments. Each cell is kept in a file of its own when it is finished, with what
// it hangs on, and a later run of the same folder takes it from there. What an experiment shows
// becomes a Record, which package report makes tables and pages of.
//
// Package papers has the experiments; package scenario runs traffic on a fabric for a cell.
package suite
