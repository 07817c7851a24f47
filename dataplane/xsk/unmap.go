package xsk

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// unmapRings unmaps the rings of a socket that is about to be closed. asavie/xdp leaves them
// mapped, and a mapping keeps the kernel's socket alive: its queue would stay busy and its packet
// memory pinned until the process ends. The library does not show the mappings, the kernel does:
// they are the ones backed by the socket's inode. The rings must not be touched afterwards.
func unmapRings(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("AF_XDP socket: %w", err)
	}
	maps, err := os.Open("/proc/self/maps")
	if err != nil {
		return err
	}
	defer maps.Close()
	name := fmt.Sprintf("socket:[%d]", st.Ino)
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		if !strings.HasSuffix(lines.Text(), name) {
			continue
		}
		var from, to uintptr
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x", &from, &to); err != nil {
			return fmt.Errorf("/proc/self/maps: %q: %w", lines.Text(), err)
		}
		if _, _, errno := unix.Syscall(unix.SYS_MUNMAP, from, to-from, 0); errno != 0 {
			return fmt.Errorf("unmap AF_XDP ring: %w", errno)
		}
	}
	return lines.Err()
}
