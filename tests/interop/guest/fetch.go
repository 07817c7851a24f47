package guest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// tries is how often a step that needs the network is made: mirrors fail for moments.
const tries = 3

// fetch downloads the recipe's packages and the libraries that they depend on, by Debian's own
// means and from the mirror that the machine is configured for, into dir. It returns their files'
// names, which have the versions.
func (r *Recipe) fetch(ctx context.Context, dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	kernel, err := dependencies(ctx, false, r.Kernel)
	if err != nil {
		return nil, err
	}
	all, err := dependencies(ctx, true, r.Packages...)
	if err != nil {
		return nil, err
	}
	// Scripts, documentation and the tools of package managers are not needed.
	packages := slices.Concat(kernel[1:], r.Packages)
	for _, p := range all {
		if strings.HasPrefix(p, "lib") || strings.HasPrefix(p, "zlib") {
			packages = append(packages, p)
		}
	}
	slices.Sort(packages)
	args := append([]string{"-q", "-o", "APT::Sandbox::User=root", "download"},
		slices.Compact(packages)...)
	for range tries {
		if _, err = run(ctx, dir, "apt-get", args...); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	debs, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	for i := range debs {
		debs[i] = filepath.Base(debs[i])
	}
	return debs, err
}

// dependencies returns the packages themselves and, next to them or to any depth, what they depend
// on. apt-cache prints a package at the left margin and its relations indented; a virtual package
// has its name in angle brackets.
func dependencies(ctx context.Context, deep bool, packages ...string) (names []string, err error) {
	args := []string{"depends", "--no-recommends", "--no-suggests", "--no-conflicts",
		"--no-breaks", "--no-replaces", "--no-enhances"}
	if deep {
		args = append(args, "--recurse")
	}
	out, err := run(ctx, "", "apt-cache", append(args, packages...)...)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		name := strings.TrimSpace(line)
		if !deep {
			name = strings.TrimPrefix(name, "Depends: ")
		} else if name != strings.TrimRight(line, "\n") {
			continue
		}
		if !strings.ContainsAny(name, "<>| ") {
			names = append(names, name)
		}
	}
	if len(names) < len(packages) || (!deep && len(names) < 2) {
		return nil, fmt.Errorf("apt-cache knows %q of %q: is its index there? try apt-get update",
			names, packages)
	}
	return names, nil
}

// unpack extracts every package in debs into one tree.
func unpack(ctx context.Context, debs, dir string) (*tree, error) {
	files, err := filepath.Glob(filepath.Join(debs, "*.deb"))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if _, err := run(ctx, "", "dpkg-deb", "-x", f, dir); err != nil {
			return nil, err
		}
	}
	return newTree(dir)
}

// run executes a program in dir and returns what it printed; an error has its last words.
func run(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	var words strings.Builder
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = dir, &words
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive",
		"CGO_ENABLED=0")
	out, err := cmd.Output()
	if err == nil {
		return out, nil
	}
	lines := strings.Split(strings.TrimSpace(words.String()), "\n")
	last := strings.Join(lines[max(0, len(lines)-5):], "\n")
	return nil, fmt.Errorf("%s: %w\n%s", name, err, last)
}
