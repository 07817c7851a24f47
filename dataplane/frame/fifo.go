package frame

// FIFO is a queue of frames, linked through the frames themselves: it needs no memory of its own
// and has no bound but the pool's. It owns the frames in it. The zero value is empty.
type FIFO struct {
	head, tail *Frame
	n          int
}

// Push puts f at the end and takes ownership of it.
func (q *FIFO) Push(f *Frame) {
	if f.next != nil || q.tail == f {
		panic("frame: pushed into two queues")
	}
	if q.tail == nil {
		q.head = f
	} else {
		q.tail.next = f
	}
	q.tail = f
	q.n++
}

// Pop takes out the first frame and gives up ownership of it; nil if there is none.
func (q *FIFO) Pop() *Frame {
	f := q.head
	if f == nil {
		return nil
	}
	q.head, f.next = f.next, nil
	if q.head == nil {
		q.tail = nil
	}
	q.n--
	return f
}

// Head is the first frame, which stays in the queue; nil if there is none.
func (q *FIFO) Head() *Frame { return q.head }

// Len is the number of frames.
func (q *FIFO) Len() int { return q.n }

// Each calls fn for every frame, the first first. fn must not change the queue.
func (q *FIFO) Each(fn func(*Frame)) {
	for f := q.head; f != nil; f = f.next {
		fn(f)
	}
}
