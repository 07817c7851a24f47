// Command nicd runs a software RoCEv2 NIC on AF_XDP.
package main

import (
	"os"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/nicd"
)

func main() { os.Exit(daemon.Main(nicd.Program(), os.Args[1:], os.Stdout, os.Stderr)) }
