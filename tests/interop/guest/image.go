package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// EnvCache is the variable that names the directory in which images are kept. The default is
// rocelab/guest in the user's cache directory.
const EnvCache = "ROCELAB_GUEST_CACHE"

// Image is what Boot boots.
type Image struct {
	Dir      string
	Packages []string // with their versions, as file names of Debian
}

// Kernel is the uncompressed kernel, an ELF file with an entry point for PVH.
func (m *Image) Kernel() string { return filepath.Join(m.Dir, "vmlinux") }

// Initramfs is a cpio archive, not compressed.
func (m *Image) Initramfs() string { return filepath.Join(m.Dir, "initramfs.cpio") }

func cacheDir() (string, error) {
	if dir := os.Getenv(EnvCache); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no place to keep the guest's image, set %s: %w", EnvCache, err)
	}
	return filepath.Join(dir, "rocelab", "guest"), nil
}

// Image returns the recipe's image, and builds it if it is not in the cache. Of several processes
// that ask at the same time one builds and the others wait. A build that fails leaves nothing. log
// is told what takes long.
func (r *Recipe) Image(ctx context.Context, log func(format string, args ...any)) (*Image, error) {
	if runtime.GOARCH != "amd64" {
		return nil, fmt.Errorf("the guest is built from Debian's amd64 packages, not %s",
			runtime.GOARCH)
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, fmt.Errorf("the guest's image: %w", err)
	}
	unlock, err := lock(filepath.Join(cache, "lock"))
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := installTools(ctx, log); err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, r.Hash())
	if m, err := open(dir); err == nil {
		return m, nil
	}
	log("building the guest's image in %s", dir)
	if err := r.build(ctx, cache, dir); err != nil {
		return nil, fmt.Errorf("build the guest's image: %w", err)
	}
	return open(dir)
}

// open looks for a complete image: the list of packages is written last.
func open(dir string) (*Image, error) {
	m := &Image{Dir: dir}
	var err error
	m.Packages, err = readLines(filepath.Join(dir, "packages"))
	return m, err
}

// lock waits until no other process has the lock; the kernel ends it with the process.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("the guest's image: %w", err)
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}

// build makes the image beside its place and moves it there when it is complete.
func (r *Recipe) build(ctx context.Context, cache, dir string) error {
	// We have the lock: what is half built here was left by a process that was killed.
	left, err := filepath.Glob(filepath.Join(cache, "build-*"))
	if err != nil {
		return err
	}
	for _, dir := range left {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	work, err := os.MkdirTemp(cache, "build-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }() // what is left is removed by the next build
	packages, err := r.fetch(ctx, filepath.Join(work, "deb"))
	if err != nil {
		return err
	}
	tree, err := unpack(ctx, filepath.Join(work, "deb"), filepath.Join(work, "tree"))
	if err != nil {
		return err
	}
	out := filepath.Join(work, "image")
	if err := os.Mkdir(out, 0o755); err != nil {
		return err
	}
	if err := extractKernel(ctx, tree, filepath.Join(out, "vmlinux")); err != nil {
		return err
	}
	if err := r.initramfs(ctx, tree, filepath.Join(out, "initramfs.cpio")); err != nil {
		return err
	}
	if err := writeLines(filepath.Join(out, "packages"), packages); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil { // an incomplete one
		return err
	}
	return os.Rename(out, dir)
}

// initramfs writes the archive of everything that the guest needs but the agent.
func (r *Recipe) initramfs(ctx context.Context, t *tree, path string) error {
	var a archive
	for _, dir := range []string{"bin", "dev", "etc", "etc/libibverbs.d", "lib", "lib64",
		"lib/modules", "lib/x86_64-linux-gnu", "proc", "root", "run", "sys", "tmp", "usr",
		"usr/bin", "usr/lib", "usr/lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu/libibverbs",
		"var", "var/run"} {
		a.dir(dir)
	}
	a.file("etc/passwd", 0o644, []byte("root:x:0:0:root:/root:/bin/sh\n"))
	a.file("etc/group", 0o644, []byte("root:x:0:\n"))
	a.file("etc/hosts", 0o644, []byte("127.0.0.1 localhost\n"))
	a.file("etc/nsswitch.conf", 0o644, []byte("hosts: files\n"))
	a.file("etc/libibverbs.d/rxe.driver", 0o644, []byte("driver rxe\n"))
	if err := r.addPrograms(&a, t); err != nil {
		return err
	}
	if err := r.addModules(ctx, &a, t); err != nil {
		return err
	}
	return os.WriteFile(path, a.end(), 0o644)
}
