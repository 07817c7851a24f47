package host

import (
	"fmt"
	"testing"

	"github.com/rocelab/rocelab/nicd"
)

// The link goes down and comes back in the middle of a flow: IPv4 addresses stay, and so does the
// queue pair. The kernel takes IPv6 addresses away when a device goes down, and they come back.
func TestDeviceDownAndUp(t *testing.T) {
	a, b := pair(t, nil)
	f := connect(a, b, "10.1.0.1", "10.1.0.2")
	f.start()
	f.goesOn(10)
	b.ip("link set eth0 down")
	b.hasAddress("fd01::2", false)
	b.ip("link set eth0 up")
	b.ip("addr replace fd01::2/64 dev eth0")
	b.hasAddress("fd01::2", true)
	f.goesOn(10)
	six := connect(a, b, "fd01::1", "fd01::2")
	six.start()
	six.goesOn(10)
}

// The device gets another name: nothing is lost, and addresses are followed under the new name.
func TestDeviceIsRenamed(t *testing.T) {
	a, b := pair(t, nil)
	f := connect(a, b, "10.1.0.1", "10.1.0.2")
	f.start()
	f.goesOn(10)
	b.ip("link set eth0 name rdma0") // Linux 6.2 and later allow it while the device is up
	b.await("the new name", func() error {
		if g := b.addresses().GIDs; len(g) == 0 || g[0].Device != "rdma0" {
			return fmt.Errorf("%+v", g)
		}
		return nil
	})
	f.goesOn(10)
	b.ip("addr add 10.1.0.3/24 dev rdma0")
	b.hasAddress("10.1.0.3", true)
	more := connect(a, b, "10.1.0.1", "10.1.0.3")
	more.start()
	more.goesOn(10)
}

// A device that is deleted takes everything with it; one of its name that is made again is followed
// as the first was.
func TestDeviceGoneAndBack(t *testing.T) {
	a, b := pair(t, nil)
	a.ip("link del eth0")
	for _, s := range []*station{a, b} {
		s.hasAddress(fmt.Sprintf("10.1.0.%d", s.n), false)
	}
	wired(a, b)
	for _, s := range []*station{a, b} {
		s.hasAddress(fmt.Sprintf("10.1.0.%d", s.n), true)
		s.await("the port is open", func() error {
			if !s.addresses().Up {
				return fmt.Errorf("it is not")
			}
			return nil
		})
	}
	f := connect(a, b, "10.1.0.1", "10.1.0.2")
	f.start()
	f.goesOn(10)
}

// The largest path MTU that fits is taken if none is given.
func TestPathMTUOfTheDevice(t *testing.T) {
	a, b := pair(t, func(c *nicd.Config) { c.MTU = 0 })
	for _, s := range []*station{a, b} {
		if got := s.addresses().PathMTU; got != 1024 {
			t.Errorf("path MTU %d on a device of 1500", got)
		}
	}
}
