// Command nicd is rocelab's nicd with one algorithm more.
package main

import (
	"os"

	_ "example.com/aimd" // registers it

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/nicd"
)

func main() {
	os.Exit(daemon.Main(daemon.Program{Name: "nicd", Sample: nicd.Sample,
		Load: func(path string) (daemon.Runner, error) { return nicd.Load(path) }},
		os.Args[1:], os.Stdout, os.Stderr))
}
