package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/pfc"
)

// TestConfigDBOfALab: a config_db.json for all switches, and another for one of them, both named
// relative to the topology file.
func TestConfigDBOfALab(t *testing.T) {
	dir := t.TempDir()
	database := func(priority string) string {
		return `{"PORT_QOS_MAP": {"Ethernet0,Ethernet4": {"pfc_enable": "` + priority + `"}},
			"BUFFER_POOL": {"in": {"type": "ingress", "size": "1000000"}}}`
	}
	const topology = `
name: two
nodes:
  - {name: t1, kind: switch}
  - {name: t2, kind: switch, switch: {config_db: own.json}}
links:
  - {endpoints: ["t1:swp1", "t2:swp1"], rate: 40Gb/s, delay: 1us}
switch: {config_db: all.json}
`
	file := filepath.Join(dir, "two.yaml")
	for path, text := range map[string]string{file: topology,
		filepath.Join(dir, "all.json"): database("3"),
		filepath.Join(dir, "own.json"): database("5")} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	top := Default()
	if err := daemon.Load(file, &top); err != nil {
		t.Fatal(err)
	}
	for node, want := range map[string]pfc.Set{"t1": pfc.SetOf(3), "t2": pfc.SetOf(5)} {
		c := top.SwitchConfig(top.Node(node))
		m, err := c.Machine()
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Ports[0].PFCSend; got != want {
			t.Errorf("%s pauses %v, want %v", node, got, want)
		}
	}
	if err := os.Remove(filepath.Join(dir, "own.json")); err != nil {
		t.Fatal(err)
	}
	top = Default()
	if err := daemon.Load(file, &top); err == nil || !strings.Contains(err.Error(), "own.json") {
		t.Errorf("a missing file of one switch: %v", err)
	}
}
