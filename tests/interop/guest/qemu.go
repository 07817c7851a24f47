package guest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/rocelab/rocelab/tests/interop/guest/line"
)

// agentPackage is the guest's first process.
const agentPackage = "github.com/rocelab/rocelab/tests/interop/guest/agent"

// arguments are qemu's.
func (g *Guest) arguments(m *Image, opts *Options) []string {
	// Panic and power-off end qemu. What takes long under emulation is left out: mitigations,
	// gathering randomness, waiting for grace periods, calibration.
	kernel := "console=ttyS0 quiet loglevel=3 panic=-1 reboot=t nokaslr mitigations=off nopti " +
		"random.trust_cpu=on tsc=reliable no_timer_check rcupdate.rcu_expedited=1 " +
		"cryptomgr.notests audit=0 selinux=0 apparmor=0 net.ifnames=0"
	// Frames carry complete checksums and are no longer than the MTU: the other end is no kernel
	// that could finish or cut them.
	offloads := ",mac=" + opts.MAC
	for _, name := range []string{"csum", "gso", "guest_csum", "guest_tso4", "guest_tso6",
		"guest_ufo", "guest_ecn", "host_tso4", "host_tso6", "host_ufo", "host_ecn"} {
		offloads += "," + name + "=off"
	}
	return []string{
		"-name", "rocelab", "-M", "pc,hpet=off,vmport=off",
		"-accel", "tcg,thread=single,tb-size=64",
		"-cpu", "qemu64,+rdrand,+ssse3,+sse4.1,+sse4.2,+popcnt,-svm", "-smp", "1",
		"-m", fmt.Sprint(cmp.Or(opts.Memory, 256)),
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-kernel", m.Kernel(), "-initrd", g.path("initrd"), "-append", kernel,
		"-netdev", "tap,id=net0,fd=3,vhost=off",
		"-device", "virtio-net-pci,romfile=,netdev=net0" + offloads,
		"-serial", "file:" + g.path("console"),
		"-chardev", "socket,id=line,path=" + g.path("line"),
		"-device", "virtio-serial-pci",
		"-device", "virtserialport,chardev=line,name=" + line.Port,
	}
}

// writeInitrd writes the image's archive and after it one of what is this guest's own.
func (m *Image) writeInitrd(ctx context.Context, opts *Options) error {
	agent := filepath.Join(opts.Dir, "agent")
	cmd := []string{"build", "-trimpath", "-ldflags=-s -w", "-o", agent, agentPackage}
	if err := goBuild(ctx, cmd...); err != nil {
		return err
	}
	var own archive
	if err := own.copy("init", agent); err != nil {
		return err
	}
	for to, from := range opts.Files {
		if err := own.copy(strings.TrimPrefix(to, "/"), from); err != nil {
			return err
		}
	}
	text, err := json.Marshal(opts.Line)
	if err != nil {
		return err
	}
	own.file(line.ConfigPath, 0o644, text)
	out, err := os.Create(filepath.Join(opts.Dir, "initrd"))
	if err != nil {
		return err
	}
	defer out.Close()
	base, err := os.Open(m.Initramfs())
	if err != nil {
		return err
	}
	defer base.Close()
	if _, err := io.Copy(out, base); err != nil {
		return err
	}
	if _, err := out.Write(own.end()); err != nil {
		return err
	}
	return out.Close()
}

func (a *archive) copy(to, from string) error {
	text, err := os.ReadFile(from)
	if err == nil {
		a.file(to, 0o755, text)
	}
	return err
}
