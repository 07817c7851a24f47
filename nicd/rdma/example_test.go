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
	ctx := context.Background()
	dev, err := rdma.Open("/run/rocelab/host1.verbs")
	if err != nil {
		log.Fatal(err)
	}
	pd, err := dev.AllocPD()
	if err != nil {
		log.Fatal(err)
	}
	mem, err := pd.Allocate(4096, rdma.Access{LocalWrite: true})
	if err != nil {
		log.Fatal(err)
	}
	cq, err := dev.CreateCQ(16)
	if err != nil {
		log.Fatal(err)
	}
	qp, err := pd.CreateQP(rdma.QPConfig{SendCQ: cq})
	if err != nil {
		log.Fatal(err)
	}
	peer := netip.MustParseAddrPort("10.0.0.2:7471")
	conn, err := dev.Dial(ctx, peer, qp, rdma.DefaultParams())
	if err != nil {
		log.Fatal(err)
	}
	n := copy(mem.Bytes, "hello")
	if _, err := qp.Post(rdma.WR{ID: 1, Op: rdma.Send, Local: mem.Segment(0, n)}); err != nil {
		log.Fatal(err)
	}
	var done [1]rdma.Completion
	if _, err := cq.Wait(ctx, done[:]); err != nil {
		log.Fatal(err)
	}
	fmt.Println(done[0].Status, done[0].At)
	if err := conn.Disconnect(ctx); err != nil {
		log.Fatal(err)
	}
	dev.Close() // and with it everything else; so does the end of the program
}

// A server takes connections one after the other and polls for what they send, without sleeping.
func ExampleDevice_Listen() {
	ctx := context.Background()
	dev, err := rdma.Open("/run/rocelab/host2.verbs")
	if err != nil {
		log.Fatal(err)
	}
	pd, err := dev.AllocPD()
	if err != nil {
		log.Fatal(err)
	}
	mem, err := pd.Allocate(4096, rdma.Access{LocalWrite: true})
	if err != nil {
		log.Fatal(err)
	}
	l, err := dev.Listen(7471)
	if err != nil {
		log.Fatal(err)
	}
	for {
		request, err := l.Accept(ctx)
		if err != nil {
			log.Fatal(err)
		}
		cq, err := dev.CreateCQ(16)
		if err != nil {
			log.Fatal(err)
		}
		qp, err := pd.CreateQP(rdma.QPConfig{SendCQ: cq})
		if err != nil {
			log.Fatal(err)
		}
		if _, err := qp.PostReceive(rdma.ReceiveWR{Local: mem.Segment(0, 4096)}); err != nil {
			log.Fatal(err)
		}
		if _, err := request.Accept(ctx, qp, rdma.DefaultParams()); err != nil {
			log.Print(err) // the other end has given up
			continue
		}
		var done [1]rdma.Completion
		for n := 0; n == 0 && err == nil; {
			n, err = cq.Poll(done[:])
		}
		fmt.Printf("%s: %q\n", done[0].Status, mem.Bytes[:done[0].Bytes])
		qp.Close() // ends the connection too
		cq.Close()
	}
}
