// Command rocelab is rocelab with one algorithm more.
package main

import (
	"os"

	_ "example.com/aimd" // registers it

	"github.com/rocelab/rocelab/cmd/rocelab/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:])) }
