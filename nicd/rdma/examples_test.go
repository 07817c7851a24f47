package rdma_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/rocelab/rocelab/nicd/rdma"
	"github.com/rocelab/rocelab/nicd/rdma/rdmatest"
)

// The two examples talk to each other, on two NICs.
func TestExamples(t *testing.T) {
	paths := rdmatest.NewPair(t)
	dev, err := rdma.Open(paths[1])
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	l, err := dev.Listen(7471)
	if err != nil {
		t.Fatal(err)
	}
	type result struct {
		done rdma.Completion
		err  error
	}
	for i := range 2 {
		text, ended := fmt.Sprint("hello ", i), make(chan result, 1)
		go func() {
			done, err := send(t.Context(), paths[0], netip.AddrPortFrom(rdmatest.IP(1), 7471), text)
			ended <- result{done, err}
		}()
		if got, err := take(t.Context(), dev, l); err != nil || got != text {
			t.Fatalf("took %q, %v", got, err)
		}
		if r := <-ended; r.err != nil || r.done.Status != rdma.Success || r.done.At == 0 {
			t.Errorf("sent %q: %+v", text, r)
		}
	}
}
