package rdma_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"

	"github.com/rocelab/rocelab/nicd/rdma"
)

// One end of a connection by the connection manager: it sends a message to who listens on port
// 7471 and waits for its end. It needs a running nicd.
func Example() {
	peer := netip.MustParseAddrPort("10.0.0.2:7471")
	done, err := send(context.Background(), "/run/rocelab/host1.verbs", peer, "hello")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done.Status, done.At)
}

// send sends a text from the NIC whose socket for programs is at path.
func send(ctx context.Context, path string, to netip.AddrPort, text string) (rdma.Completion,
	error) {
	var done [1]rdma.Completion
	dev, err := rdma.Open(path)
	if err != nil {
		return done[0], err
	}
	defer dev.Close() // and with it everything else; so does the end of the program
	pd, err := dev.AllocPD()
	if err != nil {
		return done[0], err
	}
	mem, err := pd.Allocate(4096, rdma.Access{LocalWrite: true})
	if err != nil {
		return done[0], err
	}
	cq, err := dev.CreateCQ(16)
	if err != nil {
		return done[0], err
	}
	qp, err := pd.CreateQP(rdma.QPConfig{SendCQ: cq})
	if err != nil {
		return done[0], err
	}
	conn, err := dev.Dial(ctx, to, qp, rdma.DefaultParams())
	if err != nil {
		return done[0], err
	}
	n := copy(mem.Bytes, text)
	if _, err := qp.Post(rdma.WR{ID: 1, Op: rdma.Send, Local: mem.Segment(0, n)}); err != nil {
		return done[0], err
	}
	if _, err := cq.Wait(ctx, done[:]); err != nil {
		return done[0], err
	}
	return done[0], conn.Disconnect(ctx)
}
