package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/tests/interop/guest/line"
)

func mount() error {
	for _, m := range []struct{ kind, dir string }{
		{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/dev/shm"},
		{"tmpfs", "/run"}, {"bpf", "/sys/fs/bpf"},
	} {
		if err := os.MkdirAll(m.dir, 0o755); err != nil && m.kind != "bpf" {
			return err
		}
		err := syscall.Mount(m.kind, m.dir, m.kind, 0, "")
		// The kernel may have mounted /dev already.
		if err != nil && !errors.Is(err, syscall.EBUSY) {
			return fmt.Errorf("mount %s: %w", m.dir, err)
		}
	}
	// Memory regions are locked.
	unlimited := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &unlimited); err != nil {
		return fmt.Errorf("unlimit locked memory: %w", err)
	}
	if err := os.Setenv("PATH", "/usr/bin:/bin"); err != nil {
		return err
	}
	return exec.Command("/bin/busybox", "--install", "-s", "/bin").Run()
}

func loadModules() error {
	text, err := os.ReadFile("/lib/modules/order")
	if err != nil {
		return err
	}
	for _, name := range strings.Fields(string(text)) {
		f, err := os.Open(filepath.Join("/lib/modules", name))
		if err != nil {
			return err
		}
		err = unix.FinitModule(int(f.Fd()), "", 0)
		f.Close()
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("module %s: %w", name, err)
		}
	}
	return nil
}

// appear waits for something that the kernel makes in its own time.
func appear(look func() bool) bool {
	const pause, patience = 10 * time.Millisecond, time.Minute
	for range patience / pause {
		if look() {
			return true
		}
		time.Sleep(pause)
	}
	return false
}

// openPort opens the serial port with a name.
func openPort(name string) (*os.File, error) {
	var device string
	found := appear(func() bool {
		names, _ := filepath.Glob("/sys/class/virtio-ports/*/name")
		for _, n := range names {
			text, _ := os.ReadFile(n)
			if strings.TrimSpace(string(text)) == name {
				device = filepath.Base(filepath.Dir(n))
				return true
			}
		}
		return false
	})
	if !found {
		return nil, fmt.Errorf("no serial port %s", name)
	}
	return os.OpenFile("/dev/"+device, os.O_RDWR, 0)
}

// network sets up eth0 and an rxe device on it. An rxe device has the GIDs of the addresses that
// there are, and the path MTU that fits, when it is made.
func network(cfg *line.Config) error {
	if !appear(func() bool { _, err := os.Stat("/sys/class/net/eth0"); return err == nil }) {
		return errors.New("no eth0")
	}
	// The addresses are ours to choose: nobody has to be asked whether they are taken, nor for
	// routers.
	for _, key := range []string{"accept_dad", "router_solicitations"} {
		_ = os.WriteFile("/proc/sys/net/ipv6/conf/eth0/"+key, []byte("0"), 0o644)
	}
	steps := [][]string{{"link", "set", "lo", "up"},
		{"link", "set", "eth0", "mtu", strconv.Itoa(cfg.MTU), "up"}}
	for _, a := range cfg.Addresses {
		add := []string{"addr", "add", a, "dev", "eth0"}
		if strings.Contains(a, ":") {
			add = append(add, "nodad")
		}
		steps = append(steps, add)
	}
	for _, args := range steps {
		if err := tool("/usr/bin/ip", args...); err != nil {
			return err
		}
	}
	return tool("/usr/bin/rdma", "link", "add", "rxe0", "type", "rxe", "netdev", "eth0")
}

func tool(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}
