package cli

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/deploy/fabric"
	"github.com/rocelab/rocelab/deploy/lab"
)

func printed(args ...string) (string, error) {
	var out bytes.Buffer
	c := topologyCommand()
	c.SetOut(&out)
	c.SetErr(io.Discard)
	c.SilenceUsage = true
	c.SetArgs(args)
	err := c.Execute()
	return out.String(), err
}

// TestTopologyReadsBack: what is printed is, read as rocelab up does, what the builder made.
func TestTopologyReadsBack(t *testing.T) {
	usual := fabric.Links{Rate: 40 * unit.GbPerSecond, Delay: time.Microsecond}
	slow := fabric.Links{Rate: 2500 * unit.MbPerSecond, Delay: 1500 * time.Nanosecond}
	podsets := fabric.PodsetShape{Podsets: 3, Leaves: 2, ToRs: 4, Hosts: 3, Spines: 6}
	for command, want := range map[string]lab.Topology{
		"star --hosts 9": fabric.Star("star", 9, usual),
		"dumbbell --pairs 2 --core-rate 2.5Gb/s --core-delay 1500ns": fabric.Dumbbell("dumbbell", 2,
			usual, slow),
		"parking-lot --rate 2.5G --delay 1.5us": fabric.ParkingLot("parking-lot", slow),
		"testbed --name x":                      fabric.Testbed("x", 5, usual),
		"two-tier":                              fabric.TwoTier("two-tier", 2, 4, 24, usual),
		"podsets":                               fabric.Podsets("podsets", fabric.Figure7(), usual),
		"podsets --podsets 3 --leaves 2 --tors 4 --hosts-per-tor 3 --spines 6": fabric.Podsets(
			"podsets", podsets, usual),
		"fat-tree --k 6": fabric.FatTree("fat-tree", 6, usual),
	} {
		text, err := printed(strings.Fields(command + " --seed 7")...)
		if err != nil {
			t.Errorf("%s: %v", command, err)
			continue
		}
		back := lab.Default()
		if err := daemon.Decode(command, []byte(text), &back); err != nil {
			t.Error(err)
		}
		want.Seed = 7
		if got, want := whole(t, &back), whole(t, &want); got != want {
			t.Errorf("%s: %d bytes of other text than what the builder made", command, len(got))
		}
	}
}

// whole is all of a topology.
func whole(t *testing.T, top *lab.Topology) string {
	t.Helper()
	text, err := yaml.Marshal(top)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTopologyTellsHowItWasMade: by the command line at its head.
func TestTopologyTellsHowItWasMade(t *testing.T) {
	text, err := printed("star", "--rate", "10G", "--hosts=2")
	if head, _, _ := strings.Cut(text, "\n"); err != nil ||
		head != "# topology star --hosts 2 --rate 10Gb/s" {
		t.Errorf("%q, %v", head, err)
	}
}

// TestTopologyRefuses: sizes that cannot be and values that a lab refuses are mistakes of usage.
func TestTopologyRefuses(t *testing.T) {
	for command, want := range map[string]string{
		"fat-tree --k 3":              "switches of 3 ports: want an even number",
		"testbed --hosts-per-tor 300": "hosts of a ToR: 300, want 1 to 253",
		"star --delay 0s":             "links[0].delay: must be positive",
		"star --name A":               `name: "A": want lower-case`,
	} {
		text, err := printed(strings.Fields(command)...)
		if text != "" || !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", command, err, want)
		}
	}
}
