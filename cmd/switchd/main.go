// Command switchd runs a software lossless switch on AF_XDP.
package main

import (
	"os"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/switchd"
)

func main() {
	os.Exit(daemon.Main(daemon.Program{Name: "switchd", Sample: switchd.Sample,
		Load: func(path string) (daemon.Runner, error) { return switchd.Load(path) }},
		os.Args[1:], os.Stdout, os.Stderr))
}
