package guest

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ModuleList is the file in the guest that names the modules in the order in which to load them.
const ModuleList = "lib/modules/order"

// addModules puts the recipe's modules and those they depend on into the archive. What a module
// depends on stands in its section .modinfo; the packages have no modules.dep, which is made where
// they are installed.
func (r *Recipe) addModules(ctx context.Context, a *archive, t *tree) error {
	m := modules{ctx: ctx, a: a, t: t, done: map[string]bool{}}
	for _, name := range r.Modules {
		if err := m.add(name); err != nil {
			return err
		}
	}
	a.file(ModuleList, 0o644, []byte(strings.Join(m.order, "\n")+"\n"))
	return nil
}

type modules struct {
	ctx   context.Context
	a     *archive
	t     *tree
	done  map[string]bool
	order []string
}

func (m *modules) add(name string) error {
	if m.done[name] {
		return nil
	}
	m.done[name] = true
	text, err := m.read(name)
	if err != nil {
		return err
	}
	needed, err := depends(text)
	if err != nil {
		return fmt.Errorf("module %s: %w", name, err)
	}
	for _, n := range needed {
		if err := m.add(n); err != nil {
			return fmt.Errorf("module %s: %w", name, err)
		}
	}
	m.a.file("lib/modules/"+name+".ko", 0o644, text)
	m.order = append(m.order, name+".ko")
	return nil
}

// read finds a module by its name, in which a file's name may have - for _.
func (m *modules) read(name string) ([]byte, error) {
	pattern := strings.ReplaceAll(name, "_", `[_\-]`) + ".ko*"
	rel, err := m.t.find(pattern)
	if err != nil {
		return nil, err
	}
	text, err := m.t.read(rel)
	if err == nil && filepath.Ext(rel) == ".xz" {
		return unxz(m.ctx, text)
	}
	return text, err
}

// depends returns the modules that a module names in its "depends=" line.
func depends(module []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(module))
	if err != nil {
		return nil, err
	}
	section := f.Section(".modinfo")
	if section == nil {
		return nil, fmt.Errorf("no section .modinfo")
	}
	info, err := section.Data()
	if err != nil {
		return nil, err
	}
	for item := range strings.SplitSeq(string(info), "\x00") {
		if list, ok := strings.CutPrefix(item, "depends="); ok && list != "" {
			return strings.Split(list, ","), nil
		}
	}
	return nil, nil
}

// unxz unpacks the first xz stream in text. After the kernel's stands its size, which is none.
func unxz(ctx context.Context, text []byte) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "xz", "-dc", "--single-stream")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(text), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("xz: %w", err)
	}
	return out, nil
}
