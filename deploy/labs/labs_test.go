package labs

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fake puts a lab's folder in place, locked as by its owner if it runs.
func fake(t *testing.T, root, name string, running bool) {
	t.Helper()
	dir := filepath.Join(root, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	info := `{"name": "` + name + `", "nodes": [{"name": "sw0", "kind": "switch"},
		{"name": "h1", "kind": "host"}], "links": [{"endpoints": ["h1:eth0", "sw0:swp1"]}]}`
	if err := os.WriteFile(filepath.Join(dir, "lab.json"), []byte(info), 0o644); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	if running {
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	find := func(name, want string) {
		t.Helper()
		got, err := findIn(root, name)
		if err != nil {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("find %q: %v, want %s", name, err, want)
			}
			return
		}
		if got.Name != want || got.Dir != filepath.Join(root, want) {
			t.Errorf("find %q: %s in %s, want %s", name, got.Name, got.Dir, want)
		}
	}
	find("", "no lab is running")
	fake(t, root, "left-behind", false)
	find("", "no lab is running")
	fake(t, root, "one", true)
	find("", "one")
	find("one", "one")
	find("left-behind", "no lab left-behind is running; there is one")
	fake(t, root, "two", true)
	find("two", "two")
	find("", "choose with --lab one|two")
	if _, err := findIn(filepath.Join(root, "nowhere"), ""); err == nil {
		t.Error("a lab is found where no folder is")
	}
}

func TestPortsOfALab(t *testing.T) {
	root := t.TempDir()
	fake(t, root, "one", true)
	l, err := findIn(root, "")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"sw0:swp1": "",
		"h1:eth0":  "",
		"h1":       "want node:device",
		"h2:eth0":  "no node h2 in lab one: it has sw0, h1",
		"sw0:swp2": "no port swp2 on sw0: it has swp1",
	} {
		port, err := l.Port(text)
		if want == "" && (err != nil || port.String() != text) {
			t.Errorf("%s: %v, %v", text, port, err)
		}
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if _, err := l.Client("h9"); err == nil {
		t.Error("a client of a node that is not there")
	}
}
