// Package papers has the measured results of five papers as experiments of a suite. Each stands in
// a file of its own, named like its id, and has a line in All.
package papers
