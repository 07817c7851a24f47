package rdma_test

import (
	"context"
	"fmt"
	"log"

	"github.com/rocelab/rocelab/nicd/rdma"
)

// A server takes connections one after the other and polls for what they send, without sleeping.
func ExampleDevice_Listen() {
	dev, err := rdma.Open("/run/rocelab/host2.verbs")
	if err != nil {
		log.Fatal(err)
	}
	l, err := dev.Listen(7471)
	if err != nil {
		log.Fatal(err)
	}
	for {
		text, err := take(context.Background(), dev, l)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%q\n", text)
	}
}

// take takes one connection, and of it one message.
func take(ctx context.Context, dev *rdma.Device, l *rdma.Listener) (string, error) {
	request, err := l.Accept(ctx)
	if err != nil {
		return "", err
	}
	pd, err := dev.AllocPD()
	if err != nil {
		return "", err
	}
	defer pd.Free()
	mem, err := pd.Allocate(4096, rdma.Access{LocalWrite: true})
	if err != nil {
		return "", err
	}
	defer mem.Free()
	cq, err := dev.CreateCQ(16)
	if err != nil {
		return "", err
	}
	defer cq.Close()
	qp, err := pd.CreateQP(rdma.QPConfig{SendCQ: cq})
	if err != nil {
		return "", err
	}
	defer qp.Close() // ends the connection too
	if _, err := qp.PostReceive(rdma.ReceiveWR{Local: mem.Segment(0, 4096)}); err != nil {
		return "", err
	}
	if _, err := request.Accept(ctx, qp, rdma.DefaultParams()); err != nil {
		return "", err // the other end has given up
	}
	var done [1]rdma.Completion
	for n := 0; n == 0; {
		if n, err = cq.Poll(done[:]); err != nil {
			return "", err
		}
	}
	return string(mem.Bytes[:done[0].Bytes]), nil
}
