package lab

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/features"
	"golang.org/x/sys/unix"
)

// Finding is the outcome of one preflight check.
type Finding struct {
	What string
	Err  error  // nil if it is as it should be
	Note string // what was found
}

// Examine checks everything a lab needs of the machine.
func Examine() []Finding {
	return []Finding{checkKernel(), checkRoot(), checkXSK(), checkBPF(), checkMemlock()}
}

// Preflight returns what a lab lacks, each with what to do about it, or nil.
func Preflight() error {
	var all []error
	for _, f := range Examine() {
		if f.Err != nil {
			all = append(all, f.Err)
		}
	}
	if len(all) > 0 {
		return fmt.Errorf("this machine cannot run a lab:\n%w", errors.Join(all...))
	}
	return nil
}

func checkKernel() Finding {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return Finding{What: "kernel", Err: fmt.Errorf("uname: %w", err)}
	}
	release := unix.ByteSliceToString(u.Release[:])
	f := Finding{What: "kernel", Note: release}
	var major, minor int
	if _, err := fmt.Sscanf(release, "%d.%d", &major, &minor); err == nil &&
		(major < 5 || (major == 5 && minor < 15)) {
		f.Err = fmt.Errorf("kernel %s: rocelab needs Linux 5.15 or newer", release)
	}
	return f
}

// The capabilities that building namespaces and running the daemons takes. linux/capability.h.
var capabilities = []struct {
	bit  uint
	name string
}{{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}, {unix.CAP_NET_ADMIN, "CAP_NET_ADMIN"},
	{unix.CAP_NET_RAW, "CAP_NET_RAW"}}

func checkRoot() Finding {
	f := Finding{What: "rights", Note: fmt.Sprintf("uid %d", os.Geteuid())}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&hdr, &data[0]); err != nil {
		f.Err = fmt.Errorf("read capabilities: %w", err)
		return f
	}
	var missing []string
	for _, c := range capabilities {
		if data[c.bit/32].Effective&(1<<(c.bit%32)) == 0 {
			missing = append(missing, c.name)
		}
	}
	if len(missing) > 0 {
		f.Err = fmt.Errorf("not root: network namespaces and AF_XDP need %s; run it with sudo",
			strings.Join(missing, ", "))
	}
	return f
}

func checkXSK() Finding {
	f := Finding{What: "AF_XDP sockets", Note: "available"}
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW, 0)
	switch {
	case errors.Is(err, unix.EAFNOSUPPORT):
		f.Err = errors.New("no AF_XDP: this kernel is built without CONFIG_XDP_SOCKETS")
	case errors.Is(err, unix.EPERM):
		f.Note = "not checked without CAP_NET_RAW"
	case err != nil:
		f.Err = fmt.Errorf("AF_XDP socket: %w", err)
	default:
		unix.Close(fd)
	}
	return f
}

func checkBPF() Finding {
	f := Finding{What: "XDP programs", Note: "available"}
	switch err := features.HaveProgramType(ebpf.XDP); {
	case errors.Is(err, ebpf.ErrNotSupported):
		f.Err = errors.New("no XDP: this kernel is built without CONFIG_BPF_SYSCALL")
	case errors.Is(err, unix.EPERM):
		f.Note = "not checked without CAP_BPF"
	case err != nil:
		f.Err = fmt.Errorf("XDP programs: %w", err)
	}
	return f
}

// umemBytes is the packet memory one port locks.
const umemBytes = (2048 + 1024) * 2048

func checkMemlock() Finding {
	f := Finding{What: "locked memory"}
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &lim); err != nil {
		f.Err = fmt.Errorf("read RLIMIT_MEMLOCK: %w", err)
		return f
	}
	hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(
		&hdr,
		&data[0],
	); err == nil &&
		data[0].Effective&(1<<unix.CAP_IPC_LOCK) != 0 {
		f.Note = "no limit (CAP_IPC_LOCK)"
		return f
	}
	f.Note = fmt.Sprintf("%d bytes", lim.Cur)
	if lim.Cur < umemBytes {
		f.Err = fmt.Errorf(
			"locked-memory limit is %d bytes, a port needs %d: raise it (ulimit -l, "+
				"LimitMEMLOCK=) or grant CAP_IPC_LOCK",
			lim.Cur,
			umemBytes,
		)
	}
	return f
}
