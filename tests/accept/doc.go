// Package accept uses the programs as their users do: built binaries, real namespaces and frames,
// what is on the screen and in the output folder, and what is left behind.
package accept
