package guest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// qemu is the program that boots the guest.
const qemu = "qemu-system-x86_64"

// hostTools are the programs that building and booting need, and the packages that have them.
var hostTools = map[string]string{
	qemu: "qemu-system-x86", "xz": "xz-utils", "apt-get": "apt", "apt-cache": "apt",
	"dpkg-deb": "dpkg",
}

// installTools installs what is lacking, if we may: as root, with apt.
func installTools(ctx context.Context, log func(string, ...any)) error {
	var lacking []string
	for tool, pkg := range hostTools {
		if _, err := exec.LookPath(tool); err != nil {
			lacking = append(lacking, pkg)
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	slices.Sort(lacking)
	names := strings.Join(slices.Compact(lacking), " ")
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("the guest is built on Debian and its kin; this machine lacks %s", names)
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("the guest needs packages that only root can install: apt-get install %s",
			names)
	}
	log("installing %s", names)
	wait := []string{"-q", "-o", "DPkg::Lock::Timeout=300"}
	install := slices.Concat(wait, []string{"install", "-y", "--no-install-recommends"},
		slices.Compact(lacking))
	var err error
	for range tries {
		if _, err = run(ctx, "", "apt-get", append(wait, "update")...); err != nil {
			continue
		}
		if _, err = run(ctx, "", "apt-get", install...); err == nil {
			return nil
		}
	}
	return fmt.Errorf("install %s: %w", names, err)
}

// goBuild builds programs that run without libraries.
func goBuild(ctx context.Context, args ...string) error {
	_, err := run(ctx, "", "go", args...)
	return err
}
