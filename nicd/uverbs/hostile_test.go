package uverbs

import (
	"encoding/binary"
	"encoding/json"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/dataplane/unit"
	"github.com/rocelab/rocelab/dataplane/wire"
	"github.com/rocelab/rocelab/nicd/app"
	"github.com/rocelab/rocelab/nicd/nic"
	"github.com/rocelab/rocelab/nicd/uverbs/abi"
	"github.com/rocelab/rocelab/roce/qp"
)

// direct is a driver without a loop: what it is given it does at once.
type direct struct {
	now  unit.Time
	lost time.Duration
}

func (d *direct) Do(fn func(unit.Time)) error            { fn(d.now); return nil }
func (d *direct) Attach(int, func(unit.Time) bool) error { return nil }
func (d *direct) Detach(int) error                       { return nil }
func (d *direct) Serve(loop.Poller) error                { return nil }
func (d *direct) TimeLost() time.Duration                { return d.lost }
func (d *direct) turn(now unit.Time) loop.Turn           { return loop.Turn{Now: now, Clock: now} }

// victim is a server with an honest program, whose memory and queues nobody else may touch, and one
// that the test plays.
type victim struct {
	*Server
	driver direct
	honest *program
	secret *region
	other  *program
	mem    *region // of the other
}

func newVictim(t testing.TB) *victim {
	t.Helper()
	cfg := nic.DefaultConfig()
	cfg.MAC, cfg.IPv4 = wire.MAC{2, 0, 0, 0, 0, 1}, netip.AddrFrom4([4]byte{10, 0, 0, 1})
	cfg.Rate, cfg.Seed = 40*unit.GbPerSecond, 3
	n, err := nic.New(cfg, frame.NewPool(64, 1400))
	if err != nil {
		t.Fatal(err)
	}
	v := &victim{}
	v.Server, err = Listen(Config{Name: "victim", Path: filepath.Join(t.TempDir(), "verbs"),
		Limits: small(), Host: app.NewHost(n), Driver: &v.driver,
		Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	v.cfg.Host.OnEvent(v.event)
	t.Cleanup(func() { v.Server.Close() })
	v.honest, v.secret = v.enter(t)
	v.other, v.mem = v.enter(t)
	for i := range v.secret.seg.Bytes() {
		v.secret.seg.Bytes()[i] = 0xa5
	}
	return v
}

// enter is a program with memory, a completion queue, an SRQ, and QPs of both kinds, made by calls.
// Handles: 1 domain, 2 completion queue, 3 shared receives, 4 address, 5 RC, 6 UD, 7 RC with SRQ.
func (v *victim) enter(t testing.TB) (*program, *region) {
	t.Helper()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(ends[1])
	p := newProgram(v.Server, connOf(t, ends[0]))
	t.Cleanup(func() {
		p.cancel()
		p.conn.Close()
		p.free()
	})
	must := func(call string, body any) {
		t.Helper()
		b, _ := json.Marshal(body)
		m, _ := json.Marshal(abi.Request{ID: 1, Call: call, Body: b})
		err := p.handle(m)
		p.waiters.Wait()
		if err != nil {
			t.Fatal(err)
		}
		r := drain(p)
		if r.Error != nil {
			t.Fatalf("%s: %v", call, r.Error.Text)
		}
	}
	path := abi.Path{IP: netip.AddrFrom4([4]byte{10, 0, 0, 2}), MAC: wire.MAC{2, 0, 0, 0, 0, 2}}
	must(abi.CallHello, abi.Hello{Version: abi.Version})
	must(abi.CallAllocPD, none{})
	must(abi.CallCreateCQ, abi.CreateCQ{Depth: 16})
	must(abi.CallCreateSRQ, abi.CreateSRQ{PD: 1, Depth: 8})
	must(abi.CallCreateAH, abi.CreateAH{PD: 1, Path: path})
	must(abi.CallCreateQP, abi.CreateQP{PD: 1, SendCQ: 2, ReceiveCQ: 2, SendDepth: 4,
		MaxInline: 64})
	must(abi.CallCreateQP, abi.CreateQP{PD: 1, SendCQ: 2, ReceiveCQ: 2, SendDepth: 4, UD: true})
	must(abi.CallCreateQP, abi.CreateQP{PD: 1, SendCQ: 2, ReceiveCQ: 2, SRQ: 3})
	all := qp.Access{LocalWrite: true, RemoteWrite: true, RemoteRead: true}
	must(abi.CallRegister, abi.Register{PD: 1, Size: 8192, Access: all})
	q := v.cfg.Host.NIC().QPConfig()
	in, out := q.ReceiveAttributes(), q.SendAttributes()
	must(abi.CallReadyReceive, abi.ReadyReceive{Handle: 5, QPN: 99, Path: path, Attributes: in})
	must(abi.CallReadySend, abi.ReadySend{Handle: 5, Attributes: out})
	for _, r := range p.regions {
		return p, r
	}
	t.Fatal("no memory")
	return nil, nil
}

func connOf(t testing.TB, fd int) *net.UnixConn {
	t.Helper()
	f := fileOf(fd)
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	return c.(*net.UnixConn)
}

// drain takes what the server would send, and returns the last response.
func drain(p *program) (last abi.Response) {
	for {
		select {
		case m := <-p.out:
			closeAll(m.fds)
			var r abi.Response
			if json.Unmarshal(m.body, &r) == nil && r.ID != 0 {
				last = r
			}
		default:
			return last
		}
	}
}

// poke writes what a program can: any bytes into its ring, and any index.
func (v *victim) poke(data []byte, tail uint64) {
	seg := v.other.ring.Segment()
	copy(seg.Bytes()[abi.RingBytes(0, 0):], data)
	seg.At(0).Store(tail)
}

// run lets the server and the NIC do all that follows.
func (v *victim) run() {
	for range 40 {
		v.driver.now += unit.Time(100_000)
		v.Poll(v.driver.turn(v.driver.now))
		v.Rest()
		host := v.cfg.Host
		for f := host.Transmit(v.driver.now, 0); f != nil; f = host.Transmit(v.driver.now, 0) {
			f.Release()
		}
		if host.NextWake() <= v.driver.now {
			host.Wake(v.driver.now)
		}
		drain(v.other)
		drain(v.honest)
	}
}

// unharmed judges what belongs to the honest program.
func (v *victim) unharmed(t testing.TB) {
	t.Helper()
	for i, b := range v.secret.seg.Bytes() {
		if b != 0xa5 {
			t.Fatalf("byte %d of another program's memory is %#x", i, b)
		}
	}
	if v.honest.ended || len(v.honest.queues) != 3 {
		t.Fatalf("the honest program: ended %v, %d QPs", v.honest.ended, len(v.honest.queues))
	}
	c := v.honest.cqs[2]
	if n := c.ring.Segment().At(0).Load(); n != 0 || c.broken {
		t.Fatalf("%d completions that are not the honest program's, broken %v", n, c.broken)
	}
}

// entry is a submission as its bytes.
func entry(s abi.Submission) []byte {
	b := make([]byte, abi.SubmissionSize)
	s.Encode(b)
	return b
}

// A program writes whatever it likes into its submission ring: the daemon goes on, and nothing of
// another program is touched.
func FuzzSubmissions(f *testing.F) {
	key := binary.NativeEndian.Uint32([]byte{1, 2, 3, 4})
	for _, s := range []abi.Submission{
		{Kind: abi.KindSend, Op: uint8(qp.Send), Handle: 5},
		{Kind: abi.KindSend, Op: uint8(qp.Write), Handle: 5, Length: 1 << 31, Key: key},
		{Kind: abi.KindSend, Op: uint8(qp.Write), Handle: 5, Flags: abi.FlagInline, Length: 60},
		{Kind: abi.KindSend, Op: uint8(qp.Write), Handle: 5, Flags: abi.FlagInline, Length: 4096},
		{Kind: abi.KindSend, Op: 200, Handle: 5}, {Kind: 9, Handle: 5},
		{Kind: abi.KindSend, Op: uint8(qp.Send), Handle: 6, Address: 4, QPN: 3},
		{Kind: abi.KindReceive, Handle: 5, Length: 100}, {Kind: abi.KindReceive, Handle: 7},
		{Kind: abi.KindShared, Handle: 3}, {Kind: abi.KindShared, Handle: 77},
	} {
		f.Add(entry(s), uint64(1), uint64(0), false)
		f.Add(append(entry(s), entry(s)...), uint64(300), uint64(5), true)
	}
	f.Add([]byte{}, uint64(1)<<63, uint64(1)<<40, false)
	v := newVictim(f)
	f.Fuzz(func(t *testing.T, data []byte, tail, head uint64, own bool) {
		v.refresh(t)
		if own && len(data) >= abi.SubmissionSize { // a key that exists, so that some of it is good
			binary.NativeEndian.PutUint64(data[16:], v.mem.mr.VA)
			binary.NativeEndian.PutUint32(data[24:], v.mem.mr.Key)
		} else if len(data) >= abi.SubmissionSize { // or one of somebody else's
			binary.NativeEndian.PutUint64(data[16:], v.secret.mr.VA)
			binary.NativeEndian.PutUint32(data[24:], v.secret.mr.Key)
		}
		v.other.cqs[2].ring.Segment().At(8).Store(head) // what it says it has taken
		v.poke(data, tail)
		v.run()
		v.unharmed(t)
	})
}

// refresh gives the test a new hostile program in place of the last one.
func (v *victim) refresh(t testing.TB) {
	t.Helper()
	v.other.cancel()
	v.other.conn.Close()
	v.other.free()
	v.other, v.mem = v.enter(t)
}

// Control messages of any bytes are answered or end the connection.
func FuzzMessages(f *testing.F) {
	for call := range calls {
		for _, body := range []string{`{}`, `{"handle":5}`, `{"pd":1,"size":-1}`,
			`{"pd":1,"send_cq":2,"receive_cq":2,"send_depth":-5,"dscp":200,"algorithm":"x"}`,
			`{"handle":5,"attributes":{"MTU":-1,"Resources":99999}}`,
			`{"conn":2147483649,"qp":5,"to":"10.0.0.2:7","path":{"mac":"02:00:00:00:00:02"}}`,
			`{"handle":3,"limit":-9}`, `{"port":7,"qp":6,"private":"AAAA"}`, `[]`} {
			f.Add([]byte(`{"id":3,"call":"` + call + `","body":` + body + `}`))
		}
	}
	f.Add([]byte(`{"id":0}`))
	f.Add([]byte("\x00\xff"))
	v := newVictim(f)
	f.Fuzz(func(t *testing.T, message []byte) {
		v.refresh(t)
		err := v.other.handle(message)
		v.other.waiters.Wait()
		if err == nil && drain(v.other).ID == 0 {
			t.Errorf("%q is not answered", message)
		}
		v.run()
		v.unharmed(t)
	})
}
