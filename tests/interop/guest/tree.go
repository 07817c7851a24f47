package guest

import (
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tree is what the packages unpacked to.
type tree struct {
	root   string
	byName map[string]string // base name to path below root, of every file and link
}

func newTree(root string) (*tree, error) {
	t := &tree{root, map[string]string{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		// The same name may be elsewhere, as completion of a shell for example: a directory of
		// programs or libraries is preferred.
		if _, seen := t.byName[d.Name()]; !seen || strings.Contains(rel, "bin/") {
			t.byName[d.Name()] = rel
		}
		return err
	})
	return t, err
}

// find returns the file of which the base name matches a pattern.
func (t *tree) find(pattern string) (string, error) {
	if rel, ok := t.byName[pattern]; ok {
		return rel, nil
	}
	var found []string
	for name, rel := range t.byName {
		if ok, err := filepath.Match(pattern, name); err != nil {
			return "", err
		} else if ok {
			found = append(found, rel)
		}
	}
	if len(found) == 0 {
		return "", fmt.Errorf("no package has %s", pattern)
	}
	slices.Sort(found)
	return found[len(found)-1], nil
}

// read returns what is in a file below the root. Links stay inside of it.
func (t *tree) read(rel string) ([]byte, error) {
	for range 8 {
		target, err := os.Readlink(filepath.Join(t.root, rel))
		if err != nil {
			break // not a link
		}
		if filepath.IsAbs(target) {
			rel = target
		} else {
			rel = filepath.Join(filepath.Dir(rel), target)
		}
	}
	return os.ReadFile(filepath.Join(t.root, rel))
}

// interpreter is the path of the dynamic linker that every program of amd64 names.
const interpreter = "lib64/ld-linux-x86-64.so.2"

// addPrograms puts programs and every library that any of them needs into the archive.
func (r *Recipe) addPrograms(a *archive, t *tree) error {
	box, err := t.read(r.Busybox)
	if err != nil {
		if box, err = t.read("usr/" + r.Busybox); err != nil {
			return err
		}
	}
	a.file("bin/busybox", 0o755, box)
	linker, err := t.find(filepath.Base(interpreter))
	if err != nil {
		return err
	}
	text, err := t.read(linker)
	if err != nil {
		return err
	}
	a.file(interpreter, 0o755, text)
	libs := libraries{a, t, map[string]bool{filepath.Base(interpreter): true}}
	for _, name := range r.Programs {
		if err := libs.add(name, "usr/bin/"); err != nil {
			return err
		}
	}
	for _, pattern := range r.Dlopened {
		rel, err := t.find(pattern)
		if err != nil {
			return err
		}
		to := "lib/x86_64-linux-gnu/"
		if strings.Contains(rel, "libibverbs/") {
			to = "usr/lib/x86_64-linux-gnu/libibverbs/"
		}
		if err := libs.add(filepath.Base(rel), to); err != nil {
			return err
		}
	}
	return nil
}

// libraries adds ELF files with what they need.
type libraries struct {
	a    *archive
	t    *tree
	done map[string]bool // by base name
}

func (l libraries) add(name, to string) error {
	if l.done[name] {
		return nil
	}
	l.done[name] = true
	rel, err := l.t.find(name)
	if err != nil {
		return err
	}
	text, err := l.t.read(rel)
	if err != nil {
		return err
	}
	l.a.file(to+name, 0o755, text)
	f, err := elf.NewFile(strings.NewReader(string(text)))
	if err != nil {
		return fmt.Errorf("%s: %w", rel, err)
	}
	needed, err := f.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("%s: %w", rel, err)
	}
	for _, lib := range needed {
		if err := l.add(lib, "lib/x86_64-linux-gnu/"); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func readLines(path string) ([]string, error) {
	text, err := os.ReadFile(path)
	return strings.Fields(string(text)), err
}

func writeLines(path string, lines []string) error {
	return os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644)
}
