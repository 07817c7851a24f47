package interop

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/rocelab/rocelab/nicd/rdma"
)

// Every payload is compared, byte by byte. perftest does not look at what it moves, but it can take
// a file for its buffer (--mmap), which the guest lets us read. Its layout: one half to send from,
// the other to receive into, or to be reached by the peer, at the address that it tells.
func TestPayload(t *testing.T) {
	for _, c := range []struct {
		mtu int
		way
	}{
		{1500, way{ours: ours4, guest: guest4}},
		{4500, way{ours: ours6, guest: guest6}},
	} {
		t.Run(fmt.Sprintf("mtu %d %s", c.mtu, c.ours), func(t *testing.T) {
			payloads(t, at(t, c.mtu), c.way)
		})
	}
}

// Whatever happens to frames on the way, the bytes are the same.
func TestPayloadOverBadLink(t *testing.T) {
	for _, link := range []struct {
		name string
		hurt
	}{
		{"loss", hurt{"loss 0.03", "loss 3%"}},
		{"reordered", hurt{"reorder 0.05 by 3 frames", "delay 1ms reorder 95%"}},
		{"duplicated", hurt{"dup 0.05", "duplicate 5%"}},
		{"corrupted", hurt{"corrupt 0.02", "corrupt 2%"}},
	} {
		t.Run(link.name, func(t *testing.T) {
			s := at(t, 1500)
			s.hurt(t, link.hurt)
			payloads(t, s, way{ours: ours4, guest: guest4, lossy: true})
		})
	}
}

// way is the addresses of the packets, and how the link is. The handshake is IPv4 always.
type way struct {
	ours, guest string
	lossy       bool
}

// exchange is one kind of traffic.
type exchange struct {
	tool  string // of the guest
	bytes int    // of a message
	op    rdma.Op
	// After the test: theirs is the guest's buffer, from the half on that the traffic was about.
	client, server func(p *peer, theirs []byte) error
	shared         bool // our receive queue is one that QPs share
}

var exchanges = []exchange{
	{"ib_write_bw", 10_001, rdma.Write, (*peer).lastWentThere, (*peer).cameHere, false},
	{"ib_read_bw", 10_001, rdma.Read, (*peer).allAreTheirs, (*peer).cameHere, false},
	{"ib_send_bw", 10_001, rdma.Send, (*peer).lastArrived, (*peer).received, false},
	{"ib_atomic_bw", 8, rdma.FetchAdd, (*peer).addedUp, (*peer).eachGrew, false},
}

func payloads(t *testing.T, s *station, w way) {
	for _, x := range exchanges {
		for _, client := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s client=%v", x.tool, client), func(t *testing.T) {
				damaged := strings.Contains(t.Name(), "corrupted")
				s.judge(t, tolerance{loss: w.lossy, corrupt: damaged})
				s.exchange(t, x, client, w)
			})
		}
	}
}

// Ack timeouts of QPs, 4.096 us x 2^n. Where nothing is lost nobody should repeat anything, so it
// is 17 s, longer than a test lasts: with perftest's own, 67 ms, whoever hears of an
// acknowledgement late repeats what was not lost. rxe sets its timer when it sends and none is set,
// and does not push it back by what follows (update_state in
// drivers/infiniband/sw/rxe/rxe_req.c), so that it may end early. Where frames are lost it is
// 268 ms, and an end may stand still for eight times as long.
const (
	patientTimeout = 22
	lossyTimeout   = 16
)

// rounds is how many messages go from one side to the other.
const rounds = 30

// exchange runs perftest in the guest against our end of it.
func (s *station) exchange(t *testing.T, x exchange, client bool, w way) {
	t.Helper()
	ctx := within(t, caseTime)
	p := s.newPeer(t, ctx, x)
	tool, conn := s.meet(t, ctx, client, p.command(client, s.gids[w.guest], w.lossy))
	defer conn.Close()
	h := &handshake{conn: conn, client: client, mtu: s.pathMTU(), send: x.op == rdma.Send}
	ours := keys{p.qp.QPN(), p.qp.PSN(), p.mem.Key, p.mem.VA, netip.MustParseAddr(w.ours)}
	err := h.begin(ours, p.connect)
	if err == nil && client {
		err = p.post()
	}
	if err == nil {
		err = h.end(ours)
	}
	if err == nil {
		_, err = tool.Wait(ctx)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, tool.Output())
	}
	compare := x.server
	if client {
		compare = x.client
	}
	if err := compare(p, s.guestFile(t)[p.offset(client):]); err != nil {
		t.Error(err)
	}
}

// peer is our end, a program of nicd's.
type peer struct {
	x    exchange
	mtu  int
	ctx  context.Context
	cq   *rdma.CQ
	qp   *rdma.QP
	srq  *rdma.SRQ    // if the exchange has a shared one
	mem  *rdma.Memory // rounds messages
	old  []byte       // what was in it before
	peer keys
}

func (s *station) newPeer(t *testing.T, ctx context.Context, x exchange) *peer {
	t.Helper()
	p := &peer{x: x, mtu: s.pathMTU(), ctx: ctx}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	device, err := rdma.Open(s.verbs)
	check(err)
	t.Cleanup(func() { device.Close() }) // and all that belongs to it
	pd, err := device.AllocPD()
	check(err)
	p.mem, err = pd.Allocate(rounds*p.stride(), rdma.Access{LocalWrite: true, RemoteWrite: true,
		RemoteRead: true, RemoteAtomic: true})
	check(err)
	if _, err := rand.Read(p.mem.Bytes); err != nil {
		t.Fatal(err)
	}
	p.old = bytes.Clone(p.mem.Bytes)
	p.cq, err = device.CreateCQ(2 * rounds)
	check(err)
	config := rdma.QPConfig{SendCQ: p.cq, SendDepth: rounds, ReceiveDepth: rounds, MTU: p.mtu}
	if x.shared {
		p.srq, err = pd.CreateSRQ(rounds)
		check(err)
		config.SRQ, config.ReceiveDepth = p.srq, 0
	}
	p.qp, err = pd.CreateQP(config)
	check(err)
	return p
}

// stride is from one message to the next in our memory. ib_atomic_bw walks by a cache line.
func (p *peer) stride() int { return max(p.x.bytes, 64) }

// file is the guest's buffer; in memory there, and larger than any test needs.
const (
	file     = "/dev/shm/buffer"
	fileSize = 65536
)

func (p *peer) command(client bool, gid int, lossy bool) string {
	timeout := patientTimeout
	if lossy {
		timeout = lossyTimeout
	}
	cmd := fmt.Sprintf("head -c %d /dev/zero > %s\n"+
		"%s --mmap=%s -F -d rxe0 -x %d -n %d -u %d", fileSize, file, p.x.tool, file, gid, rounds,
		timeout)
	if p.x.bytes != 8 {
		cmd += fmt.Sprint(" -s ", p.x.bytes)
	}
	if !client {
		cmd += " " + ours4
	}
	return cmd
}

// offset is where in the guest's buffer its data stands. A guest that is the server is reached in
// the second half, which begins behind the first message, somewhat rounded up; the buffer begins
// with a page, so the address that we were told has the offset in its last digits.
func (p *peer) offset(client bool) int {
	if !client {
		return 0
	}
	const page = 4096
	return p.x.bytes + (int(p.peer.va%page)-p.x.bytes%page+page)%page
}

// guestFile reads the guest's buffer.
func (s *station) guestFile(t *testing.T) []byte {
	t.Helper()
	text := s.sh(t, "base64 "+file)
	b, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(text, "\n", ""))
	if err != nil || len(b) != fileSize {
		t.Fatalf("%d of %d bytes of the guest's buffer: %v", len(b), fileSize, err)
	}
	return b
}

// connect makes ready for all messages and connects.
func (p *peer) connect(k keys) error {
	if p.x.op == rdma.Send {
		if err := p.help(p.qp.PostReceive, 0, rounds); err != nil {
			return err
		}
	}
	return p.join(k)
}

// help posts the receives of messages from..to-1.
func (p *peer) help(post func(...rdma.ReceiveWR) (int, error), from, to int) error {
	for i := from; i < to; i++ {
		if _, err := post(rdma.ReceiveWR{ID: uint64(i), Local: p.message(i)}); err != nil {
			return err
		}
	}
	return nil
}

// join connects to the other end.
func (p *peer) join(k keys) error {
	p.peer = k
	remote := rdma.Remote{QPN: k.qpn, PSN: k.psn, Path: rdma.Path{IP: k.ip}}
	return p.qp.Connect(p.ctx, remote)
}

// message is the place of the i-th one in our memory.
func (p *peer) message(i int) rdma.Segment { return p.mem.Segment(i*p.stride(), p.x.bytes) }

func (p *peer) bytes(i int) []byte { return p.mem.Bytes[i*p.stride():][:p.x.bytes] }

// post hands all messages to the NIC and waits until they have ended well.
func (p *peer) post() error {
	for i := range rounds {
		wr := rdma.WR{ID: uint64(i), Op: p.x.op, Local: p.message(i), SwapAdd: addend(i)}
		if p.x.op != rdma.Send {
			wr.Remote = rdma.Target{VA: p.peer.va, RKey: p.peer.rkey}
		}
		if _, err := p.qp.Post(wr); err != nil {
			return err
		}
	}
	return p.complete()
}

// addend is what the i-th FETCH_ADD adds.
func addend(i int) uint64 { return 1<<40 + uint64(i) }

// complete takes one completion for each message, in their order.
func (p *peer) complete() error { return p.take(0, rounds) }

// take takes those of messages from..to-1.
func (p *peer) take(from, to int) error {
	var all [rounds]rdma.Completion
	for n := from; n < to; {
		got, err := p.cq.Wait(p.ctx, all[n:to])
		if err != nil {
			return fmt.Errorf("after %d completions: %w", n, err)
		}
		for _, c := range all[n : n+got] {
			if c.Status != rdma.Success || c.ID != uint64(n) || c.Bytes != p.x.bytes {
				return fmt.Errorf("completion %d of %d bytes: %+v", n, p.x.bytes, c)
			}
			n++
		}
	}
	return nil
}
