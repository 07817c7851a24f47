// Package tidy holds the repository to its own rules: what a pure machine may do, which package
// may import which, how long things may be, and which words and calls do not belong.
//
// The rules are functions from a Tree to Faults and use the standard library alone. The test of
// this package runs them over the repository, and each of them over a small source that breaks
// it, so a rule that has gone blind is noticed.
//
// Syntax is enough for most rules. Whether a range is over a map, or a package-level variable
// holds state, is a question of types: pure packages are type-checked, which is cheap because
// they import nothing but each other and a short list of the standard library.
package tidy
