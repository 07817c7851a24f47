package bpf

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/wire"
)

// TestNICVerdicts: RDMA and flow control to the socket with metadata, the rest to the kernel as
// it came.
func TestNICVerdicts(t *testing.T) {
	m := testMap(classify.TrustDSCP)
	p := loaded(t, LoadNIC, m)
	var want Counters
	for _, k := range kinds {
		r := run(t, p, k.frame)
		if r.verdict != k.nic || r.stamped != (k.nic == xdpRedirect) {
			t.Errorf("%s: verdict %d, want %d; stamped %v", k.name, r.verdict, k.nic, r.stamped)
		}
		if r.stamped && r.class != m.Classify(k.frame) {
			t.Errorf("%s: class %+v", k.name, r.class)
		}
		want.Received++
		if k.nic == xdpRedirect {
			want.ToSocket++
		} else {
			want.ToKernel++
		}
	}
	want.PFCFrames, want.PFCXOFF[3], want.PFCXON[4] = 1, 1, 1
	if got := counters(t, p); got != want {
		t.Errorf("counters\n got %+v\nwant %+v", got, want)
	}
}

// TestNICAnswersARP: of a NIC that answers ARP itself the socket gets the requests for its address,
// and the kernel all others; program and Go agree which they are. Without an address the kernel
// gets all.
func TestNICAnswersARP(t *testing.T) {
	const frames = 4000
	rng := rand.New(rand.NewPCG(seed(t), 0))
	m, ip := testMap(classify.TrustDSCP), netip.AddrFrom4([4]byte{10, 0, 0, 1})
	answers, silent := loadedAs(t, LoadNIC, PortConfig{Map: m, IPv4: ip}), loaded(t, LoadNIC, m)
	request := arpRequest(ip)
	var asked int
	for range frames {
		b := slices.Clone(request)
		for range rng.IntN(5) {
			b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
		}
		want := uint32(xdpPass)
		if wire.AsksFor(b, ip) {
			want = xdpRedirect
			asked++
		}
		if m.Classify(b).Kind != frame.Other {
			continue // the change was to the EtherType
		}
		r := run(t, answers, b)
		if r.verdict != want || want == xdpRedirect && r.class != m.Classify(b) {
			t.Fatalf("% x: verdict %d, want %d; %+v", b, r.verdict, want, r.class)
		}
		if r := run(t, silent, b); r.verdict != xdpPass {
			t.Fatalf("% x: verdict %d without an address", b, r.verdict)
		}
	}
	if asked < frames/4 || asked > frames*3/4 { // of 60 bytes 18 count
		t.Errorf("%d of %d frames ask for %v", asked, frames, ip)
	}
}

// arpRequest asks for an address, padded as by a MAC.
func arpRequest(ip netip.Addr) []byte {
	b := make([]byte, wire.MinFrame)
	(*wire.Ethernet)(b).SetDst(wire.Broadcast)
	(*wire.Ethernet)(b).SetType(wire.TypeARP)
	arp := (*wire.ARP)(b[wire.EthernetLen:])
	arp.Init()
	arp.SetOperation(wire.ARPRequest)
	arp.SetSenderMAC(wire.MAC{2, 0, 0, 0, 0, 9})
	arp.SetSenderIP([4]byte{10, 0, 0, 9})
	arp.SetTargetIP(ip.As4())
	return b
}

// TestNICMalformed: the kernel judges what we cannot read.
func TestNICMalformed(t *testing.T) {
	p := loaded(t, LoadNIC, testMap(classify.TrustDSCP))
	b := packet{}.Bytes()
	b[14] = 0x55
	if got := run(t, p, b).verdict; got != xdpPass {
		t.Errorf("verdict %d", got)
	}
	if got := counters(t, p); got.Malformed != 1 || got.ToKernel != 1 {
		t.Errorf("counters %+v", got)
	}
}
