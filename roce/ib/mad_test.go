package ib

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/wire"
)

// capturedMADs returns every message of the connection manager in the captures.
func capturedMADs(t testing.TB) (mads []MAD) {
	t.Helper()
	for _, frames := range captured(t) {
		for _, b := range frames {
			p, ok := Open(b, wire.EthernetLen, l4Of(b))
			if !ok || p.BTH.DestQP() != QP1 {
				continue
			}
			m, ok := AsMAD(p.Payload)
			if !ok || !m.IsCM() || p.DETH.QKey() != GSIQKey || p.DETH.SourceQP() != QP1 {
				t.Fatalf("not a MAD for QP1: % x", p.Payload)
			}
			mads = append(mads, *m)
		}
	}
	return mads
}

// A message written anew from what the accessors read of a captured one is that one: every bit of
// the real peer has a name, and each name its place.
func TestMADsAreTheRealPeers(t *testing.T) {
	seen := map[Attribute]int{}
	for _, m := range capturedMADs(t) {
		seen[m.Attribute()]++
		var got MAD
		got.Init(m.Attribute(), m.TID())
		rewrite(t, &got, &m)
		if got != m {
			t.Errorf("%v:\n got %x\nwant %x", m.Attribute(), got, m)
		}
	}
	want := map[Attribute]int{AttrREQ: 4, AttrREP: 3, AttrRTU: 3, AttrREJ: 1, AttrDREQ: 3,
		AttrDREP: 3}
	for a, n := range want {
		if seen[a] != n {
			t.Errorf("%d %vs in the captures, want %d", seen[a], a, n)
		}
	}
}

func rewrite(t *testing.T, dst, src *MAD) {
	t.Helper()
	switch src.Attribute() {
	case AttrREQ:
		rewriteREQ((*REQ)(dst), (*REQ)(src))
	case AttrREP:
		rewriteREP((*REP)(dst), (*REP)(src))
	case AttrRTU, AttrDREP:
		d, s := (*RTU)(dst), (*RTU)(src)
		d.SetLocalID(s.LocalID())
		d.SetRemoteID(s.RemoteID())
		copy(d.Private(), s.Private())
	case AttrREJ:
		d, s := (*REJ)(dst), (*REJ)(src)
		d.SetLocalID(s.LocalID())
		d.SetRemoteID(s.RemoteID())
		d.SetMessage(s.Message())
		d.SetInfoLen(s.InfoLen())
		d.SetReason(s.Reason())
		copy(d.Info(), s.Info())
		copy(d.Private(), s.Private())
	case AttrDREQ:
		d, s := (*DREQ)(dst), (*DREQ)(src)
		d.SetLocalID(s.LocalID())
		d.SetRemoteID(s.RemoteID())
		d.SetRemoteQPN(s.RemoteQPN())
		copy(d.Private(), s.Private())
	default:
		t.Fatalf("no rewriting of %v", src.Attribute())
	}
}

func rewriteREQ(d, s *REQ) {
	d.SetLocalID(s.LocalID())
	d.SetService(s.Service())
	d.SetGUID(s.GUID())
	d.SetQPN(s.QPN())
	d.SetResources(s.Resources())
	d.SetDepth(s.Depth())
	d.SetRemoteTimeout(s.RemoteTimeout())
	d.SetTransport(s.Transport())
	d.SetFlowControl(s.FlowControl())
	d.SetPSN(s.PSN())
	d.SetLocalTimeout(s.LocalTimeout())
	d.SetRetry(s.Retry())
	d.SetPKey(s.PKey())
	d.SetMTU(s.MTU())
	d.SetRNRRetry(s.RNRRetry())
	d.SetMaxRetries(s.MaxRetries())
	d.SetSRQ(s.SRQ())
	d.SetLocalLID(s.LocalLID())
	d.SetRemoteLID(s.RemoteLID())
	d.SetLocalGID(s.LocalGID())
	d.SetRemoteGID(s.RemoteGID())
	d.SetFlowLabel(s.FlowLabel())
	d.SetRate(s.Rate())
	d.SetTrafficClass(s.TrafficClass())
	d.SetHopLimit(s.HopLimit())
	d.SetSL(s.SL())
	d.SetSubnetLocal(s.SubnetLocal())
	d.SetAckTimeout(s.AckTimeout())
	from, to, ok := (*IPHeader)(s.Private()).Get()
	if ok {
		(*IPHeader)(d.Private()).Set(from, to)
		copy(d.Private()[IPHeaderLen:], s.Private()[IPHeaderLen:])
	}
}

func rewriteREP(d, s *REP) {
	d.SetLocalID(s.LocalID())
	d.SetRemoteID(s.RemoteID())
	d.SetQPN(s.QPN())
	d.SetPSN(s.PSN())
	d.SetResources(s.Resources())
	d.SetDepth(s.Depth())
	d.SetAckDelay(s.AckDelay())
	d.SetFailover(s.Failover())
	d.SetFlowControl(s.FlowControl())
	d.SetRNRRetry(s.RNRRetry())
	d.SetSRQ(s.SRQ())
	d.SetGUID(s.GUID())
	copy(d.Private(), s.Private())
}

// What is known of the run of rping reads as that.
func TestREQOfRping(t *testing.T) {
	for _, m := range capturedMADs(t) {
		r := (*REQ)(&m)
		if m.Attribute() != AttrREQ || r.Service() != IPService(SpaceTCP, 7174) {
			continue
		}
		from, to, ok := (*IPHeader)(r.Private()).Get()
		client, server := netip.MustParseAddr("10.9.0.2"), netip.MustParseAddr("10.9.0.1")
		if r.QPN() != 0x11 || r.PSN() != 0x0b3d72 || r.MTU().Bytes() != 1024 ||
			r.Transport() != RC || r.Retry() != 7 || r.RNRRetry() != 7 || r.MaxRetries() != 15 ||
			r.AckTimeout() != 19 || r.PKey() != DefaultPKey || r.Resources() != 1 ||
			r.Depth() != 1 || r.LocalGID() != client || r.RemoteGID() != server ||
			!ok || from.Addr() != client || to != server || from.Port() != 0xbf6b {
			t.Errorf("%x", m)
		}
		return
	}
	t.Fatal("no REQ of rping")
}

func TestIPHeader(t *testing.T) {
	for _, test := range []struct{ from, to string }{
		{"10.0.0.1:7", "10.0.0.2"}, {"[fd00::1]:65535", "fd00::2"}, {"[::]:0", "::"},
	} {
		var h IPHeader
		for i := range h {
			h[i] = 0xa5
		}
		wantFrom, wantTo := netip.MustParseAddrPort(test.from), netip.MustParseAddr(test.to)
		h.Set(wantFrom, wantTo)
		if from, to, ok := h.Get(); !ok || from != wantFrom || to != wantTo {
			t.Errorf("%v: %v %v %v", test, from, to, ok)
		}
	}
	for _, bad := range [][2]byte{{1, 0x40}, {0, 0x00}, {0, 0x50}} {
		h := IPHeader{bad[0], bad[1]}
		if _, _, ok := h.Get(); ok {
			t.Errorf("% x is taken for a header", bad)
		}
	}
}

func TestServiceID(t *testing.T) {
	for s, want := range map[ServiceID]string{
		0x0000000001061c06: "port 7174", 0x0000000001114853: "datagram port 18515",
		0x1000000001061c06: "service 0x1000000001061c06", 0x01ff0001: "service 0x0000000001ff0001",
	} {
		if s.String() != want {
			t.Errorf("%016x is %q, want %q", uint64(s), s, want)
		}
	}
}

func TestCodes(t *testing.T) {
	if got := TimeOf(20); got != 4294967296*time.Nanosecond {
		t.Errorf("code 20 is %v", got) // 4.3 s
	}
	// Linux 6.1 and 6.12 with rxe's delay of 15: lifetimes of 18 and 16 make 19 and 17.
	for _, c := range [][3]uint8{{18, 15, 19}, {16, 15, 17}, {14, 15, 16}, {10, 15, 15},
		{15, 20, 20}, {18, 20, 21}, {31, 31, 31}} {
		if got := AckTimeout(c[0], c[1]); got != c[2] {
			t.Errorf("lifetime %d, delay %d: %d, want %d", c[0], c[1], got, c[2])
		}
	}
	for code, mtu := range map[MTUCode]int{0: 0, 1: 256, 3: 1024, 5: 4096, 6: 0, 15: 0} {
		if code.Bytes() != mtu {
			t.Errorf("MTU code %d is %d", code, code.Bytes())
		}
		if mtu != 0 && CodeOfMTU(mtu) != code {
			t.Errorf("MTU %d has code %d", mtu, CodeOfMTU(mtu))
		}
	}
	if CodeOfMTU(1000) != 0 || RejectReason(8).String() != "invalid service id" ||
		RejectReason(28).String() != "consumer" || RejectReason(34).String() != "reason 34" ||
		RejectReason(35).String() != "vendor option not supported" ||
		SIDRStatus(1).String() != "service not supported" ||
		SIDRStatus(9).String() != "SIDR status 9" ||
		AttrSIDRREP.String() != "SIDR_REP" || Attribute(1).String() != "attribute 0x0001" {
		t.Error("a name or a code is wrong")
	}
}

func TestPrivateLengths(t *testing.T) {
	var m MAD
	for _, l := range []struct {
		name      string
		got, want int
	}{
		{"REQ", len((*REQ)(&m).Private()), REQPrivateLen},
		{"REP", len((*REP)(&m).Private()), REPPrivateLen},
		{"RTU", len((*RTU)(&m).Private()), RTUPrivateLen},
		{"MRA", len((*MRA)(&m).Private()), MRAPrivateLen},
		{"REJ", len((*REJ)(&m).Private()), REJPrivateLen},
		{"REJ info", len((*REJ)(&m).Info()), REJInfoLen},
		{"DREQ", len((*DREQ)(&m).Private()), DREQPrivateLen},
		{"DREP", len((*DREP)(&m).Private()), DREPPrivateLen},
		{"SIDR_REQ", len((*SIDRREQ)(&m).Private()), SIDRREQPrivateLen},
		{"SIDR_REP", len((*SIDRREP)(&m).Private()), SIDRREPPrivateLen},
		{"SIDR_REP info", len((*SIDRREP)(&m).Info()), 72},
		{"alternate path", len((*REQ)(&m).Alternate()), 44},
	} {
		if l.got != l.want {
			t.Errorf("%s: %d, want %d", l.name, l.got, l.want)
		}
	}
}

// FuzzMAD: what is taken for a message reads without harm and changes nothing.
func FuzzMAD(f *testing.F) {
	for _, m := range capturedMADs(f) {
		f.Add(m[:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, ok := AsMAD(b)
		if ok != (len(b) == MADLen) {
			t.Fatalf("%d bytes: %v", len(b), ok)
		}
		if !ok {
			return
		}
		before := bytes.Clone(b)
		var again MAD
		rewriteREQ((*REQ)(&again), (*REQ)(m))
		rewriteREP((*REP)(&again), (*REP)(m))
		_, _, _ = m.IsCM(), m.OtherClassVersion(), m.Attribute().String()
		j, s := (*REJ)(m), (*SIDRREP)(m)
		_, _, _ = j.Reason().String(), j.Message(), s.Status().String()
		if j.InfoLen() > 127 || (*REQ)(m).PSN() > psnMask || s.QPN() > MaxQPN {
			t.Error("a field is larger than its bits")
		}
		if !bytes.Equal(b, before) {
			t.Error("reading changed the message")
		}
	})
}
