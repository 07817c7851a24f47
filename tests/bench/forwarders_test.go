package bench

import (
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/xsk"
)

// bare starts a forwarder that moves frames between two sockets and does nothing else.
func (r *rig) bare(b *testing.B) (stop func()) {
	b.Helper()
	var socks [2]*xsk.Socket
	var closers []func() error
	r.do(b, func() error {
		for i, name := range []string{"s0", "s1"} {
			prog, sock, err := openSocket(name)
			if err != nil {
				return err
			}
			socks[i] = sock
			closers = append(closers, sock.Close, prog.Close)
		}
		return nil
	})
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		forward(socks, quit)
	}()
	return func() {
		close(quit)
		<-done
		for _, c := range closers {
			if err := c(); err != nil {
				b.Error(err)
			}
		}
	}
}

func forward(socks [2]*xsk.Socket, quit <-chan struct{}) {
	runtime.LockOSThread() // as switchd's loop does
	defer runtime.UnlockOSThread()
	pool := frame.NewPool(1024, 2048)
	var arrived [256]loop.Arrival
	polls := []unix.PollFd{{Fd: int32(socks[0].FD()), Events: unix.POLLIN},
		{Fd: int32(socks[1].FD()), Events: unix.POLLIN}}
	nap := unix.NsecToTimespec(5e6)
	for {
		select {
		case <-quit:
			return
		default:
		}
		_, _ = unix.Ppoll(polls, &nap, nil)
		for i, s := range socks {
			n := s.Receive(pool, arrived[:])
			for _, a := range arrived[:n] {
				for !socks[1-i].Send(a.Frame) && socks[1-i].Flush() == nil {
				}
			}
			if n > 0 {
				_ = socks[1-i].Flush()
			}
		}
	}
}

// bridge puts s0 and s1 into a Linux bridge.
func (r *rig) bridge(b *testing.B) (stop func()) {
	b.Helper()
	br := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br0", TxQLen: -1}}
	r.do(b, func() error {
		if err := netlink.LinkAdd(br); err != nil {
			return err
		}
		if err := raise("br0"); err != nil {
			return err
		}
		for _, name := range []string{"s0", "s1"} {
			dev, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			if err := netlink.LinkSetMaster(dev, br); err != nil {
				return err
			}
		}
		return nil
	})
	return func() { r.do(b, func() error { return netlink.LinkDel(br) }) }
}
