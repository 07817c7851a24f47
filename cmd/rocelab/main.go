// Command rocelab builds labs of emulated RoCEv2 NICs and lossless switches and runs experiments.
package main

import (
	"os"

	"github.com/rocelab/rocelab/cmd/rocelab/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
