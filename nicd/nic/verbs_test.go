package nic

import (
	"errors"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/roce/qp"
)

// A domain is freed when nothing is in it, and not before.
func TestDomains(t *testing.T) {
	a, _, _ := newPeers(t, nil)
	pd := a.AllocPD()
	r, err := a.RegisterMemory(pd, make([]byte, 100), qp.Access{})
	if err != nil {
		t.Fatal(err)
	}
	srq, err := a.CreateSRQ(pd, 4)
	if err != nil {
		t.Fatal(err)
	}
	cfg := a.QPConfig()
	cfg.PD = pd
	local, err := a.CreateRC(cfg, Service{SRQ: srq})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.DestroySRQ(srq); !errors.Is(err, ErrInUse) {
		t.Errorf("destroyed a queue in use: %v", err)
	}
	if err := a.PostReceive(0, local.QPN, qp.ReceiveWR{}); !errors.Is(err, qp.ErrOp) {
		t.Errorf("own receive beside a shared queue: %v", err)
	}
	for _, end := range []func() error{
		func() error { return a.DestroyQP(local.QPN) },
		func() error { return a.DestroySRQ(srq) },
		func() error { a.DeregisterMR(r); return nil },
	} {
		if err := a.FreePD(pd); !errors.Is(err, ErrInUse) {
			t.Fatalf("freed a domain in use: %v", err)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.FreePD(pd); err != nil {
		t.Error(err)
	}
	if err := a.FreePD(DefaultPD); !errors.Is(err, ErrNoPD) {
		t.Errorf("freed the default domain: %v", err)
	}
	if _, err := a.RegisterMemory(pd, make([]byte, 1), qp.Access{}); !errors.Is(err, ErrNoPD) {
		t.Errorf("memory in a domain that is no more: %v", err)
	}
}

// Datagrams go between UD QPs by address handles of the sender's domain, with the codepoint of the
// handle; one whose handle has gone is not sent.
func TestDatagrams(t *testing.T) {
	a, b, _ := newPeers(t, nil)
	ud := qp.UDConfig{PD: DefaultPD, MTU: 1024, SendQueue: 4, ReceiveQueue: 4, QKey: 5}
	from, err := a.CreateUD(ud, Service{})
	if err != nil {
		t.Fatal(err)
	}
	to, err := b.CreateUD(ud, Service{})
	if err != nil {
		t.Fatal(err)
	}
	dscp := uint8(11)
	ah, err := a.CreateAH(DefaultPD, Path{IP: b.cfg.IPv4, MAC: b.cfg.MAC, DSCP: &dscp})
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := a.CreateAH(a.AllocPD(), Path{IP: b.cfg.IPv4, MAC: b.cfg.MAC})
	if err != nil {
		t.Fatal(err)
	}
	wr := qp.UDWR{ID: 3, Local: qp.Local{Key: a.region.Key, VA: a.region.VA, Length: 77},
		To: qp.Address{Handle: uint32(foreign), QPN: to.QPN, QKey: 5}}
	if err := a.PostUD(0, from.QPN, wr); !errors.Is(err, ErrAddress) {
		t.Errorf("address of another domain: %v", err)
	}
	wr.To.Handle = uint32(ah)
	receive := qp.ReceiveWR{ID: 8, Local: qp.Local{Key: b.region.Key, VA: b.region.VA,
		Length: 200}}
	if err := b.PostReceive(0, to.QPN, receive); err != nil {
		t.Fatal(err)
	}
	if err := a.PostUD(0, from.QPN, wr); err != nil {
		t.Fatal(err)
	}
	f := a.send(0)
	if f == nil || f.Bytes()[15] != dscp<<2 {
		t.Fatalf("sent %v", f)
	}
	b.give(0, f)
	var c [1]qp.Completion
	if b.PollCQ(to.QPN, c[:]) != 1 || c[0].ID != 8 || c[0].SourceQP != from.QPN ||
		c[0].Bytes != qp.GRHLen+77 {
		t.Errorf("received %+v", c[0])
	}
	if err := a.PostUD(0, from.QPN, wr); err != nil {
		t.Fatal(err)
	}
	if err := a.DestroyAH(ah); err != nil {
		t.Fatal(err)
	}
	if f := a.send(0); f != nil {
		t.Errorf("sent %d bytes to an address that is no more", f.Len())
	}
	if err := a.DestroyAH(ah); !errors.Is(err, ErrAddress) {
		t.Errorf("destroyed twice: %v", err)
	}
}

// Datagram and reliable QPs share receives: a UD QP takes the next of the queue, is flushed of
// none, and tells of the limit; a datagram for which none is left is dropped.
func TestDatagramsTakeSharedReceives(t *testing.T) {
	a, b, _ := newPeers(t, nil)
	srq, err := b.CreateSRQ(DefaultPD, 4)
	if err != nil {
		t.Fatal(err)
	}
	ud := qp.UDConfig{PD: DefaultPD, MTU: 1024, SendQueue: 4, ReceiveQueue: 4, QKey: 5}
	from, err := a.CreateUD(ud, Service{})
	if err != nil {
		t.Fatal(err)
	}
	to, err := b.CreateUD(ud, Service{SRQ: srq})
	if err != nil {
		t.Fatal(err)
	}
	ah, err := a.CreateAH(DefaultPD, Path{IP: b.cfg.IPv4, MAC: b.cfg.MAC})
	if err != nil {
		t.Fatal(err)
	}
	receive := qp.ReceiveWR{Local: qp.Local{Key: b.region.Key, VA: b.region.VA, Length: 200}}
	if err := b.PostReceive(0, to.QPN, receive); !errors.Is(err, qp.ErrOp) {
		t.Errorf("a receive of its own: %v", err)
	}
	for receive.ID = 1; receive.ID <= 2; receive.ID++ {
		if err := b.PostSRQ(srq, receive); err != nil {
			t.Fatal(err)
		}
	}
	b.ArmSRQ(srq, 1)
	wr := qp.UDWR{Local: qp.Local{Key: a.region.Key, VA: a.region.VA, Length: 77},
		To: qp.Address{Handle: uint32(ah), QPN: to.QPN, QKey: 5}}
	for i, left := range []int{1, 0, 0} {
		now := unit.Time(i) * unit.Time(time.Millisecond)
		a.Wake(now)
		if err := a.PostUD(now, from.QPN, wr); err != nil {
			t.Fatal(err)
		}
		b.give(now, a.send(now))
		var c [2]qp.Completion
		got := b.PollCQ(to.QPN, c[:])
		if srq.Left() != left {
			t.Errorf("datagram %d leaves %d receives, want %d", i, srq.Left(), left)
		}
		if want := i < 2; (got == 1) != want || want && c[0].ID != uint64(i+1) {
			t.Errorf("datagram %d: %d completions, %+v", i, got, c[0])
		}
	}
	if e, ok := b.NextEvent(); !ok || e.Kind != SRQLimit || e.SRQ != srq {
		t.Errorf("told %+v (%v)", e, ok)
	}
	if drops := b.snapshot(0).Transport.OutOfBuffer; drops != 1 {
		t.Errorf("%d dropped for want of a receive, want 1", drops)
	}
	foreign := &SRQ{queue: qp.NewSRQ(b.memory, b.AllocPD(), 1)}
	if _, err := b.CreateUD(ud, Service{SRQ: foreign}); !errors.Is(err, qp.ErrLocal) {
		t.Errorf("a queue of another domain: %v", err)
	}
	if err := b.DestroyQP(to.QPN); err != nil {
		t.Fatal(err)
	}
	if err := b.DestroySRQ(srq); err != nil {
		t.Errorf("without its QP: %v", err)
	}
}

// A QP's codepoint is on its data and on its answers, and its priority is the one that a pause
// holds back.
func TestCodepointOfAQP(t *testing.T) {
	pool := frame.NewPool(16, 1400)
	a, b := newPeer(t, 1, pool, nil), newPeer(t, 2, pool, nil)
	dscp := uint8(4) // priority 4
	for _, x := range []struct{ from, to *peer }{{a, b}, {b, a}} {
		err := x.from.Connect(x.from.local.QPN, Remote{QPN: x.to.local.QPN, PSN: x.to.local.PSN,
			IP: x.to.cfg.IPv4, MAC: x.to.cfg.MAC, DSCP: &dscp})
		if err != nil {
			t.Fatal(err)
		}
	}
	a.write(t, 0, b, 100)
	data := a.send(0)
	if data == nil || data.Bytes()[15]>>2 != dscp {
		t.Fatalf("data %v", data)
	}
	b.give(0, data)
	if ack := b.send(0); ack == nil || ack.Bytes()[15]>>2 != dscp {
		t.Errorf("answer %v", ack)
	} else {
		ack.Release()
	}
	if s := a.snapshot(0); s.Traffic[4].Sent.Frames != 1 {
		t.Errorf("by priority: %+v", s.Traffic)
	}
	wrong := uint8(64)
	if _, err := a.CreateRC(a.QPConfig(), Service{DSCP: &wrong}); err == nil {
		t.Error("a codepoint of seven bits")
	}
}

// A path that is lost and found again is told of, if it is the kernel's.
func TestPathEvents(t *testing.T) {
	pool := frame.NewPool(16, 1400)
	a, b := newPeer(t, 1, pool, nil), newPeer(t, 2, pool, nil)
	err := a.Connect(a.local.QPN, Remote{QPN: b.local.QPN, PSN: b.local.PSN, IP: b.cfg.IPv4,
		MAC: b.cfg.MAC, Resolved: true})
	if err != nil {
		t.Fatal(err)
	}
	a.PathDown(0, a.cfg.IPv4, b.cfg.IPv4, frame.DropNoRoute)
	if e, ok := a.NextEvent(); !ok || e.Kind != PathError || e.QPN != a.local.QPN ||
		e.Why != frame.DropNoRoute {
		t.Errorf("event %+v, %v", e, ok)
	}
	a.Moved(0, a.cfg.IPv4, b.cfg.IPv4, b.cfg.MAC)
	if e, ok := a.NextEvent(); !ok || e.Kind != PathMigrated || e.QPN != a.local.QPN {
		t.Errorf("event %+v, %v", e, ok)
	}
	if e, ok := a.NextEvent(); ok {
		t.Errorf("and %+v", e)
	}
}

// A QP that goes to ERR by itself is an event, once; one that is told to is not.
func TestFatalEvent(t *testing.T) {
	a, b, _ := newPeers(t, nil)
	wr := a.request(b, 8)
	wr.Remote.RKey++
	if err := a.Post(0, a.local.QPN, wr); err != nil {
		t.Fatal(err)
	}
	exchange(0, a, b)
	if e, ok := a.NextEvent(); !ok || e.Kind != QPFatal || e.QPN != a.local.QPN {
		t.Errorf("event %+v, %v", e, ok)
	}
	if e, ok := a.NextEvent(); ok {
		t.Errorf("and %+v", e)
	}
	x, _, _ := newPeers(t, nil)
	if err := x.Fail(0, x.local.QPN); err != nil {
		t.Fatal(err)
	}
	if e, ok := x.NextEvent(); ok {
		t.Errorf("told of what was asked for: %+v", e)
	}
}
