package rdma_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/rocelab/rocelab/nicd/rdma"
	"github.com/rocelab/rocelab/nicd/uverbs"
	"github.com/rocelab/rocelab/roce/ib"
)

// victimEnv makes the test's binary the program that is killed: its value is the daemon's socket.
const victimEnv = "ROCELAB_TEST_VICTIM"

func TestMain(m *testing.M) {
	if path := os.Getenv(victimEnv); path != "" {
		if err := victim(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// invitation is what the victim tells on its output.
type invitation struct {
	QPN    ib.QPN
	PSN    ib.PSN
	Target rdma.Target
}

// greeting is what it is told on its input.
type greeting struct {
	QPN ib.QPN
	PSN ib.PSN
	IP  netip.Addr
}

// victim owns a connected QP and memory that the peer writes to, until it is killed.
func victim(path string) error {
	dev, err := rdma.Open(path)
	if err != nil {
		return err
	}
	pd, err := dev.AllocPD()
	if err != nil {
		return err
	}
	mem, err := pd.Allocate(memorySize, everything)
	if err != nil {
		return err
	}
	cq, err := dev.CreateCQ(64)
	if err != nil {
		return err
	}
	q, err := pd.CreateQP(rdma.QPConfig{SendCQ: cq})
	if err != nil {
		return err
	}
	err = json.NewEncoder(os.Stdout).Encode(invitation{q.QPN(), q.PSN(), mem.Target(0)})
	if err != nil {
		return err
	}
	var g greeting
	if err := json.NewDecoder(os.Stdin).Decode(&g); err != nil {
		return err
	}
	err = q.Connect(context.Background(), rdma.Remote{QPN: g.QPN, PSN: g.PSN,
		Path: rdma.Path{IP: g.IP}})
	if err != nil {
		return err
	}
	fmt.Println(`"ready"`)
	var c [1]rdma.Completion
	_, err = cq.Wait(context.Background(), c[:])
	return fmt.Errorf("nobody killed us: %w", err)
}

// A program that is killed while its peer writes into its memory leaves nothing behind on its
// daemon, which goes on; the peer's requests run out of retries, as for any queue pair that is no
// more.
func TestKilledProgramLeavesNothing(t *testing.T) {
	s := newLab(t, uverbs.DefaultLimits())
	a := open(t, s[0], rdma.QPConfig{})
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimEnv+"="+s[1].path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	t.Cleanup(func() {
		if !killed {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	said := json.NewDecoder(bufio.NewReader(out))
	var peer invitation
	if err := said.Decode(&peer); err != nil {
		t.Fatal(err)
	}
	g, _ := json.Marshal(greeting{a.qp.QPN(), a.qp.PSN(), s[0].ip})
	if _, err := in.Write(g); err != nil {
		t.Fatal(err)
	}
	err = a.qp.Connect(t.Context(), rdma.Remote{QPN: peer.QPN, PSN: peer.PSN,
		Path: rdma.Path{IP: s[1].ip}})
	if err != nil {
		t.Fatal(err)
	}
	var ready string
	if err := said.Decode(&ready); err != nil {
		t.Fatal(err)
	}
	write := rdma.WR{Op: rdma.Write, Local: a.mem.Segment(0, memorySize), Remote: peer.Target}
	for range 16 {
		post(t, a.qp, write)
	}
	if c := a.next(t); c.Status != rdma.Success {
		t.Fatalf("before the end: %+v", c)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	killed = true
	for {
		c := a.next(t)
		if c.Status == rdma.Success {
			post(t, a.qp, write)
			continue
		}
		if c.Status != rdma.RetryExceeded {
			t.Errorf("the peer sees %v", c.Status)
		}
		break
	}
	s[1].empty(t)
	pair(t, s, rdma.QPConfig{}) // both daemons go on
}

// empty waits until nothing is left of any program.
func (s *station) empty(t testing.TB) {
	t.Helper()
	for end := time.After(deadline); ; {
		st, err := s.server.Stats()
		if err != nil {
			t.Fatal(err)
		}
		if st.Programs+st.Queues+st.Regions+st.CQs == 0 && st.Memory == 0 {
			break
		}
		select {
		case <-end:
			t.Fatalf("left behind: %+v", st)
		default:
		}
	}
	if err := s.loop.Do(s.judge(t)); err != nil {
		t.Fatal(err)
	}
}

// Whoever waits, polls, posts or calls when the daemon ends is told at once.
func TestDaemonGone(t *testing.T) {
	s := newLab(t, uverbs.DefaultLimits())
	a, _ := pair(t, s, rdma.QPConfig{})
	l, err := a.dev.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	q, err := a.pd.CreateQP(rdma.QPConfig{SendCQ: a.cq})
	if err != nil {
		t.Fatal(err)
	}
	ctx := within(t)
	ended := make(chan error, 3)
	go func() {
		var c [1]rdma.Completion
		_, err := a.cq.Wait(ctx, c[:])
		ended <- err
	}()
	go func() {
		_, err := l.Accept(ctx)
		ended <- err
	}()
	go func() { // to somebody who does not listen in time
		_, err := a.dev.Dial(ctx, netip.AddrPortFrom(s[1].ip, 9), q, rdma.DefaultParams())
		if errors.Is(err, rdma.ErrRejected) {
			err = rdma.ErrDaemonGone // was faster than we are
		}
		ended <- err
	}()
	s[0].stop()
	for range 3 {
		if err := <-ended; !errors.Is(err, rdma.ErrDaemonGone) {
			t.Errorf("who waits sees %v", err)
		}
	}
	<-a.dev.Done()
	var c [1]rdma.Completion
	if _, err := a.cq.Poll(c[:]); !errors.Is(err, rdma.ErrDaemonGone) {
		t.Errorf("Poll: %v", err)
	}
	if _, err := a.qp.Post(rdma.WR{}); !errors.Is(err, rdma.ErrDaemonGone) {
		t.Errorf("Post: %v", err)
	}
	if _, err := a.dev.Query(); !errors.Is(err, rdma.ErrDaemonGone) {
		t.Errorf("Query: %v", err)
	}
	if err := a.dev.Err(); !errors.Is(err, rdma.ErrDaemonGone) {
		t.Errorf("Err: %v", err)
	}
	a.mem.Bytes[0]++ // what the program has mapped stays
	if _, err := rdma.Open(s[0].path); err == nil {
		t.Error("opened a daemon that has ended")
	}
}
