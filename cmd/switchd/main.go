// Command switchd runs a software lossless switch on AF_XDP.
package main

import (
	"os"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/switchd"
)

func main() { os.Exit(daemon.Main(switchd.Program(), os.Args[1:], os.Stdout, os.Stderr)) }
