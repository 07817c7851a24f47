// Command nicd runs a software RoCEv2 NIC on AF_XDP.
package main

import (
	"os"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/nicd"
)

func main() {
	os.Exit(daemon.Main(daemon.Program{Name: "nicd", Sample: nicd.Sample,
		Load: func(path string) (daemon.Runner, error) { return nicd.Load(path) }},
		os.Args[1:], os.Stdout, os.Stderr))
}
