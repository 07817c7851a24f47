package rping

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/nicd/rdma"
	"github.com/rocelab/rocelab/nicd/rdma/rdmatest"
)

// said is a message of two real programs, rping -C 5 -S 64 of rdma-core 44.
type said struct {
	who, what string
	bytes     []byte
}

func transcript(t testing.TB) (all []said) {
	t.Helper()
	f, err := os.Open("testdata/rping.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		words := strings.Fields(s.Text())
		b, err := hex.DecodeString(words[2])
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, said{words[0], words[1], b})
	}
	return all
}

// The texts of real pings are ours, and so are the messages.
func TestRealPrograms(t *testing.T) {
	texts, notices := 0, 0
	for _, m := range transcript(t) {
		switch {
		case m.what != "send":
			if want := textOf(texts/2, 64); !bytes.Equal(m.bytes, want) {
				t.Errorf("text %d: %q, ours is %q", texts/2, m.bytes, want)
			}
			texts++
		default:
			n, err := parseNotice(m.bytes)
			if err != nil || m.who == "client" && (n.length != 64 || n.key == 0 || n.va == 0) {
				t.Errorf("%s: %+v, %v", m.who, n, err)
			}
			if got := n.append(nil); !bytes.Equal(got, m.bytes) {
				t.Errorf("%x is written %x", m.bytes, got)
			}
			notices++
		}
	}
	if texts != 10 || notices != 20 {
		t.Errorf("%d texts, %d notices", texts, notices)
	}
}

// The letters begin anew after z, within a text and from one ping to the next.
func TestText(t *testing.T) {
	for _, c := range []struct {
		ping, size int
		want       string
	}{{57, 30, "rdma-ping-57: zABCDEFGHIJKLMN\x00"}, {58, 26, "rdma-ping-58: ABCDEFGHIJK\x00"},
		{0, MinSize, "rdma-ping-0: ABCDEFGHIJKL\x00"}} {
		if got := string(textOf(c.ping, c.size)); got != c.want {
			t.Errorf("ping %d of %d bytes: %q, want %q", c.ping, c.size, got, c.want)
		}
	}
}

func FuzzParseNotice(f *testing.F) {
	for _, m := range transcript(f) {
		f.Add(m.bytes)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := parseNotice(b)
		if err == nil && !bytes.Equal(n.append(nil), b) {
			t.Fatalf("%x", b)
		}
	})
}

// wire connects two queue pairs that do everything at once.
type wire struct {
	peer     *wire
	mem      *rdma.Memory
	receives []rdma.ReceiveWR
	queue    chan rdma.Completion
	damage   bool // WRITEs arrive changed
}

func (w *wire) slice(at uint64, n int) []byte {
	return w.mem.Bytes[at-w.mem.VA : at-w.mem.VA+uint64(n)]
}

func (w *wire) PostReceive(wr ...rdma.ReceiveWR) (int, error) {
	w.receives = append(w.receives, wr...)
	return len(wr), nil
}

func (w *wire) Post(wrs ...rdma.WR) (int, error) {
	for _, wr := range wrs {
		own := w.slice(wr.Local.VA, wr.Local.Length)
		switch wr.Op {
		case rdma.Send:
			r := w.peer.receives[0]
			w.peer.receives = w.peer.receives[1:]
			copy(w.peer.slice(r.Local.VA, r.Local.Length), own)
			w.peer.queue <- rdma.Completion{Op: rdma.Receive, Bytes: len(own)}
		case rdma.Read:
			copy(own, w.peer.slice(wr.Remote.VA, len(own)))
		case rdma.Write:
			copy(w.peer.slice(wr.Remote.VA, len(own)), own)
			if w.damage {
				w.peer.slice(wr.Remote.VA, len(own))[5] ^= 1
			}
		}
		w.queue <- rdma.Completion{Op: wr.Op}
	}
	return len(wrs), nil
}

func (w *wire) Wait(ctx context.Context, dst []rdma.Completion) (int, error) {
	select {
	case dst[0] = <-w.queue:
		return 1, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func channels(t *testing.T, size int) (client, server *channel) {
	t.Helper()
	var all [2]*channel
	var wires [2]*wire
	for i := range all {
		n := []int{size, MaxSize}[i]
		mem := &rdma.Memory{Bytes: make([]byte, memoryNeeded(n)), VA: uint64(i+1) << 32, Key: 5}
		wires[i] = &wire{mem: mem, queue: make(chan rdma.Completion, 16)}
		all[i] = &channel{qp: wires[i], cq: wires[i], mem: mem, size: n, patience: 10 * time.Second}
		if err := all[i].prepare(); err != nil {
			t.Fatal(err)
		}
	}
	wires[0].peer, wires[1].peer = wires[1], wires[0]
	return all[0], all[1]
}

// Client and server together, several rounds of several sizes.
func TestRounds(t *testing.T) {
	for _, size := range []int{MinSize, 64, 1000, MaxSize} {
		client, server := channels(t, size)
		ended := make(chan error, 1)
		go func() {
			for range 70 {
				if _, err := server.serve(t.Context()); err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
		for n := range 70 {
			back, _, err := client.ping(t.Context(), n)
			if err != nil || !bytes.Equal(back, textOf(n, size)) {
				t.Fatalf("ping %d of %d bytes: %q, %v", n, size, back, err)
			}
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
}

// Over the connection manager, on two NICs: what is printed is what rping prints.
func TestOnNICs(t *testing.T) {
	paths := rdmatest.NewPair(t)
	var devs [2]*rdma.Device
	for i := range devs {
		d, err := rdma.Open(paths[i])
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		devs[i] = d
	}
	c := Config{Port: DefaultPort, Size: 64, Count: 3, Verbose: true, Validate: true,
		Patience: 20 * time.Second, Server: true}
	l, err := devs[1].Listen(c.Port)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var out, in bytes.Buffer
	ended := make(chan error, 1)
	go func() { ended <- serveOne(t.Context(), devs[1], l, &c, &in) }()
	client, rounds := c, 0
	client.Server, client.Address = false, rdmatest.IP(1)
	client.Round = func(trip Trip) {
		if trip.Ping != rounds || trip.Took < 6*rdmatest.Delay || trip.Lost < 0 {
			t.Errorf("round %d: %+v", rounds, trip)
		}
		rounds++
	}
	if err := Run(t.Context(), devs[0], client, &out); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	const want = "ping data: rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqr\n"
	if !strings.HasPrefix(out.String(), want) || strings.Count(out.String(), "\n") != 3 ||
		!strings.HasPrefix(in.String(), "server "+want) || rounds != 3 {
		t.Errorf("client\n%s\nserver\n%s", out.String(), in.String())
	}
	// Nobody listens any more.
	l.Close()
	if err := Run(t.Context(), devs[0], client, &out); err == nil ||
		!strings.Contains(err.Error(), "is rping -s, or rocelab ping -s, running there?") {
		t.Errorf("nobody there: %v", err)
	}
}

// A round trip is from when the NIC took the request, not from when the program saw it done, and
// what the clock lost is told apart.
func TestTrip(t *testing.T) {
	const us = unit.Time(time.Microsecond)
	from := rdma.Completion{Posted: 10 * us, At: 14 * us, Lost: 5 * time.Microsecond}
	to := rdma.Completion{At: 30 * us, Lost: 7 * time.Microsecond}
	if got := trip(3, &from, &to); got != (Trip{3, 20 * time.Microsecond, 2 * time.Microsecond}) {
		t.Errorf("%+v", got)
	}
}

// A changed text is found, a client that announces too much is refused, and nobody waits for ever.
func TestRefused(t *testing.T) {
	client, server := channels(t, 64)
	server.qp.(*wire).damage = true
	go server.serve(t.Context())
	if _, _, err := client.ping(t.Context(), 0); err == nil ||
		!strings.Contains(err.Error(), "data mismatch") {
		t.Errorf("damaged: %v", err)
	}
	client, server = channels(t, 64)
	if err := client.send(t.Context(), notice{1, 2, 1 << 31}); err != nil {
		t.Fatal(err)
	}
	if _, err := server.serve(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "announces 2147483648 bytes") {
		t.Errorf("too much: %v", err)
	}
	server.patience = time.Millisecond
	if _, err := server.serve(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "does not answer") {
		t.Errorf("silent: %v", err)
	}
}

// batch gives all completions at once.
type batch []rdma.Completion

func (b *batch) Wait(_ context.Context, dst []rdma.Completion) (int, error) {
	n := copy(dst, *b)
	*b = (*b)[n:]
	return n, nil
}

// A client that leaves with its last answer is seen to leave after it, however late we look.
func TestLeavesWithTheLastAnswer(t *testing.T) {
	cq := &batch{{Op: rdma.Send}, {Op: rdma.Receive, Status: rdma.Flushed},
		{Op: rdma.Receive, Status: rdma.Flushed}}
	c := &channel{cq: cq, posted: 1, patience: time.Minute}
	if err := c.wait(t.Context(), func() bool { return c.done == c.posted }); err != nil {
		t.Errorf("the answer: %v", err)
	}
	if _, err := c.receive(t.Context()); !errors.Is(err, ErrLeft) {
		t.Errorf("after it: %v, want %v", err, ErrLeft)
	}
}

// A server for one client after another has done what it should when it is interrupted.
func TestPersistentServerEnds(t *testing.T) {
	d, err := rdma.Open(rdmatest.NewPair(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := Config{Server: true, Persistent: true, Port: DefaultPort, Size: 64}
	if err := Run(ctx, d, c, io.Discard); err != nil {
		t.Error(err)
	}
	c.Persistent = false // there was no client
	if err := Run(ctx, d, c, io.Discard); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
