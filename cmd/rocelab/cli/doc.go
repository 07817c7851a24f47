// Package cli is the command line of rocelab, one file for each command.
//
// It is a package so that others can build a rocelab of their own, which knows more congestion
// control algorithms: a main function of five lines that imports them and calls Main.
//
//	package main
//
//	import (
//		"os"
//
//		_ "example.com/aimd" // registers the algorithm
//
//		"github.com/rocelab/rocelab/cmd/rocelab/cli"
//	)
//
//	func main() { os.Exit(cli.Main(os.Args[1:])) }
//
// That program does all that ours does. The daemons of a lab that it brings up are itself, started
// again as "rocelab switchd" and "rocelab nicd", so they know what it knows.
package cli
