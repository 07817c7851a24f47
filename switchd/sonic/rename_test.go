package sonic

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestPortNames: in the order of the front panel.
func TestPortNames(t *testing.T) {
	tables, _, err := Read(database(t))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12"}
	if got := tables.PortNames(); !slices.Equal(got, want) {
		t.Errorf("ports %v, want %v", got, want)
	}
	names := []string{"b", "swp10", "swp9", "swp1", "swp01s2", "swp1s10", "a"}
	slices.SortFunc(names, natural)
	want = []string{"a", "b", "swp1", "swp01s2", "swp1s10", "swp9", "swp10"}
	if !slices.Equal(names, want) {
		t.Errorf("sorted %v, want %v", names, want)
	}
}

// TestRenameBack: other names and back again is the same, and a port without a name is gone.
func TestRenameBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := draw(t)
		to, back := make(map[string]string), make(map[string]string)
		for _, name := range want.PortNames() {
			to[name], back["x"+name] = "x"+name, name
		}
		there, left := want.Rename(to)
		again, left2 := there.Rename(back)
		if len(left)+len(left2) > 0 || !reflect.DeepEqual(again, want) {
			t.Fatalf("got\n%+v\nwant\n%+v\nwithout %v %v", again, want, left, left2)
		}
		names := want.PortNames()
		if len(names) == 0 {
			return
		}
		gone := names[0]
		delete(to, gone)
		less, left := want.Rename(to)
		if !slices.Equal(left, []string{gone}) || slices.Contains(less.PortNames(), "x"+gone) {
			t.Fatalf("without %s: left out %v, ports %v", gone, left, less.PortNames())
		}
	})
}

// TestOverlay: fields over fields, in lower case, ranges expanded; what says nothing is refused.
func TestOverlay(t *testing.T) {
	tables, _, err := Read(database(t))
	if err != nil {
		t.Fatal(err)
	}
	over, faults := tables.Overlay(Raw{
		"buffer_profile": {"deep": {"pool": "ingress_lossless_pool", "dynamic_th": "1/16",
			"xoff": "40KB"}},
		"buffer_pg":    {"Ethernet0,Ethernet4|3-4": {"profile": "deep"}},
		"port_qos_map": {"Ethernet8": {"pfc_enable": "", "pfcwd_sw_enable": ""}},
	})
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if over.PGs["Ethernet4|4"].Profile != "deep" || over.Profiles["deep"].XOFF != 40_000 ||
		over.PGs["Ethernet8|4"].Profile == "deep" || over.PortQoS["Ethernet8"].PFCEnable != nil ||
		over.PortQoS["Ethernet8"].DSCPToTC != "AZURE" {
		t.Errorf("overlaid %+v", over)
	}
	for _, c := range []struct {
		raw  Raw
		want Fault
	}{
		{Raw{"queue": {"a|3": {"colour": "red"}}},
			Fault{"QUEUE", "a|3", "colour", "not known here"}},
		{Raw{"vlan": {"a": {"b": "c"}}}, Fault{"VLAN", "a", "", "no such table or key"}},
		{Raw{"queue": {"a|9": {}}}, Fault{"QUEUE", "a|9", "", `key "a|9": "9": want 0 to 7`}},
		{Raw{"port": {"a": {"lanes": "1"}}}, Fault{"PORT", "a", "lanes", "not QoS"}},
		{Raw{"wred_profile": {"AZURE_LOSSLESS": {"red_min_threshold": "1"}}},
			Fault{"WRED_PROFILE", "AZURE_LOSSLESS", "red_min_threshold", noColours}},
	} {
		if got, faults := tables.Overlay(c.raw); got != nil || !slices.Contains(faults, c.want) {
			t.Errorf("%v: %v, want %v", c.raw, faults, c.want)
		}
	}
}
