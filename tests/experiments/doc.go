// Package experiments runs the least of every experiment that tells whether its claims hold, in
// virtual time, and holds docs/papers.md to what there is.
package experiments
