package switchd

import "testing"

func TestPortAddressesDiffer(t *testing.T) {
	seen := make(map[string]bool)
	for _, name := range []string{"sw0", "sw1", "t1", "t2", "l1"} {
		c := Default()
		c.Name = name
		for port := range 256 {
			mac := c.portMAC(port)
			if seen[mac.String()] || mac.IsMulticast() || mac[0]&2 == 0 {
				t.Fatalf("%s port %d: %v", name, port, mac)
			}
			seen[mac.String()] = true
		}
	}
}
