// Command agent is the first process of the guest. It sets the guest up and then executes what
// comes over the serial port, as package line says.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"syscall"

	"github.com/rocelab/rocelab/tests/interop/guest/line"
)

func main() {
	if err := serve(); err != nil {
		// The console is a file of the test, which sees the guest end.
		fmt.Fprintln(os.Stderr, "agent:", err)
	}
	syscall.Sync()
	_ = syscall.Reboot(syscall.LINUX_REBOOT_CMD_RESTART) // qemu ends instead
}

func serve() error {
	if err := mount(); err != nil {
		return err
	}
	if err := loadModules(); err != nil {
		return err
	}
	text, err := os.ReadFile("/" + line.ConfigPath)
	if err != nil {
		return err
	}
	var cfg line.Config
	if err := json.Unmarshal(text, &cfg); err != nil {
		return err
	}
	port, err := openPort(line.Port)
	if err != nil {
		return err
	}
	defer port.Close()
	if err := network(&cfg); err != nil {
		return err
	}
	a := newAgent(port)
	if err := a.say(line.Reply{Is: line.Up}); err != nil {
		return err
	}
	return a.obey(port)
}
