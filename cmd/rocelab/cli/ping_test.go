package cli

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/rocelab/rocelab/nicd/rping"
)

// What ping prints says which time it is in, and warns of what the NIC's clock has lost.
func TestPingTellsWhichTime(t *testing.T) {
	const head = "PING 10.0.0.2 over RDMA: 64 bytes of text, times in the NIC's virtual time\n" +
		"64 bytes from 10.0.0.2: seq=0 time=1.000 ms\n" +
		"64 bytes from 10.0.0.2: seq=1 time=3.000 ms\n" +
		"--- 10.0.0.2 ping statistics ---\n2 pings answered\n" +
		"rtt min/avg/max/mdev = 1.000/2.000/3.000/1.000 ms\n"
	for lost, want := range map[time.Duration]string{
		0: "",
		time.Millisecond: "WARNING: the NIC's clock lost 2ms in these 4ms; by the wall clock the " +
			"average is 3.000 ms\n",
	} {
		var out, warn bytes.Buffer
		r := rounds{w: &out, warn: &warn, c: &rping.Config{Size: 64,
			Address: netip.MustParseAddr("10.0.0.2")}}
		r.begin()
		r.add(rping.Trip{Ping: 0, Took: time.Millisecond, Lost: lost})
		r.add(rping.Trip{Ping: 1, Took: 3 * time.Millisecond, Lost: lost})
		r.summary()
		if out.String() != head || warn.String() != want {
			t.Errorf("lost %v each: printed\n%s\nand\n%s", lost, out.String(), warn.String())
		}
	}
}
