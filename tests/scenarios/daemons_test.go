package scenarios

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/rocelab/rocelab/dataplane/classify"
	"github.com/rocelab/rocelab/dataplane/daemon"
	"github.com/rocelab/rocelab/dataplane/loop"
	"github.com/rocelab/rocelab/deploy/lab"
	"github.com/rocelab/rocelab/nicd"
	"github.com/rocelab/rocelab/tests/require"
)

// real is a crossing on the real thing: daemons in namespaces, AF_XDP on veth.
type real struct {
	*testing.T
	lab *lab.Lab
	ctx context.Context
}

func (r *real) call(node, method, path string, req, resp any) {
	r.Helper()
	if err := r.lab.Client(node).Call(r.ctx, method, path, req, resp); err != nil {
		r.Fatalf("%s %s: %v", node, path, err)
	}
}

func (r *real) post(node, path string, req, resp any) {
	r.Helper()
	r.call(node, http.MethodPost, path, req, resp)
}

func host(i int) string { return fmt.Sprintf("h%d", i+1) }

// newReal brings up a lab of the setup.
func newReal(t *testing.T, s setup) *real {
	t.Helper()
	require.Root(t)
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin, "../../cmd/switchd", "../../cmd/nicd")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	top := lab.Star(fmt.Sprintf("crossing-%d", os.Getpid()), s.senders+1, 1, s.delay)
	for i := range top.Links {
		top.Links[i].Rate = s.rate(i)
	}
	top.NIC.CC.Algorithm, top.Switch.WRED.ECN = s.algorithm, "ecn_none"
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	l, err := lab.Up(ctx, top, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r := &real{T: t, lab: l, ctx: ctx}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// start does what star.connect and star.start do.
func (r *real) start(s setup) {
	r.Helper()
	sink := host(s.senders)
	for i := range s.senders {
		var a, b nicd.Endpoint
		r.post(host(i), "/v1/open", nicd.OpenRequest{Bytes: s.message}, &a)
		r.post(sink, "/v1/open", nicd.OpenRequest{Bytes: s.message}, &b)
		r.post(host(i), "/v1/join", nicd.JoinRequest{QPN: a.QPN, Peer: b}, nil)
		r.post(sink, "/v1/join", nicd.JoinRequest{QPN: b.QPN, Peer: a}, nil)
		r.post(host(i), "/v1/flow", nicd.FlowRequest{Name: host(i), QPN: a.QPN, Verb: "write",
			Depth: flowDepth, MessageBytes: s.message, Messages: crossingMessages,
			StartNs: int64(crossingStart(i))}, nil)
	}
}

// wait waits until all messages are there.
func (r *real) wait(s setup) {
	r.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for left := s.senders; left > 0; {
		select {
		case <-tick.C:
		case err := <-r.lab.Failed():
			r.Fatalf("a daemon ended: %v", err)
		case <-r.ctx.Done():
			r.Fatalf("%d senders are not done at %v", left, r.lab.Page.Status().Virtual)
		}
		left = s.senders
		for i := range s.senders {
			var st nicd.Status
			r.call(host(i), http.MethodGet, "/v1/status", nil, &st)
			if f := st.Flows[0]; f.Messages == crossingMessages {
				left--
			} else if f.Failed > 0 {
				r.Fatalf("%s: %d messages failed", host(i), f.Failed)
			}
		}
	}
}

// The daemons on real frames give what virtual time gives, to the byte.
func TestDaemonsGiveTheSameFrames(t *testing.T) {
	s := crossing()
	r := newReal(t, s)
	path := filepath.Join(t.TempDir(), "port.pcapng")
	r.post("sw0", "/v1/capture", daemon.CaptureRequest{Path: path, Frames: 10_000,
		Ports: []string{fmt.Sprintf("swp%d", s.senders+1)}}, nil)
	r.start(s)
	r.lab.Start()
	r.wait(s)
	var res daemon.CaptureResult
	r.post("sw0", "/v1/capture/stop", struct{}{}, &res)
	same(t, roceFrames(t, path, s.senders), cross(t, newVirtual))
}

// roceFrames reads the RoCEv2 packets of a switch port from a capture, which has two interfaces
// for each port: what came in from the host, and what went out to it.
func roceFrames(t *testing.T, path string, port int) (seen sequence) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ng, err := pcapgo.NewNgReader(f, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	for {
		b, info, err := ng.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return seen
		}
		if err != nil {
			t.Fatal(err)
		}
		if look := (&classify.Map{}).Classify(b); !look.Kind.IsRoCE() {
			continue // ARP, and what else the kernels of the hosts send
		}
		switch info.InterfaceIndex - 2*port {
		case int(loop.In): // of the switch
			seen[loop.Out] = append(seen[loop.Out], b)
		case int(loop.Out):
			seen[loop.In] = append(seen[loop.In], b)
		}
	}
}
