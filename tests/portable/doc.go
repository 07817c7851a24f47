// Package portable proves that machines compute the same on every processor: golden tables under
// other instruction sets, and no arithmetic whose rounding a compiler may choose.
package portable
