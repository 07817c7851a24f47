package frame

import "testing"

func TestFIFO(t *testing.T) {
	pool := NewPool(3, 64)
	var q FIFO
	if q.Pop() != nil || q.Head() != nil || q.Len() != 0 {
		t.Fatal("the empty queue has a frame")
	}
	for range 2 { // The second time with frames that were in the queue before.
		a, b, c := pool.Get(), pool.Get(), pool.Get()
		q.Push(a)
		q.Push(b)
		if q.Len() != 2 || q.Head() != a || q.Pop() != a {
			t.Fatal("first in is not first out")
		}
		q.Push(c)
		if q.Pop() != b || q.Pop() != c || q.Pop() != nil || q.Len() != 0 {
			t.Fatal("order is lost")
		}
		a.Release()
		b.Release()
		c.Release()
	}
}

func TestFIFORefusesTheSameFrameTwice(t *testing.T) {
	pool := NewPool(2, 64)
	var q FIFO
	f := pool.Get()
	q.Push(f)
	defer func() {
		if recover() == nil {
			t.Error("one frame is in the queue twice")
		}
	}()
	q.Push(f)
}

func TestFIFOEach(t *testing.T) {
	pool := NewPool(2, 64)
	var q FIFO
	a, b := pool.Get(), pool.Get()
	q.Push(a)
	q.Push(b)
	var seen []*Frame
	q.Each(func(f *Frame) { seen = append(seen, f) })
	if len(seen) != 2 || seen[0] != a || seen[1] != b || q.Len() != 2 {
		t.Errorf("%d frames seen, %d left", len(seen), q.Len())
	}
}
