package fib

// ring is a list of neighbours, linked through the entries themselves by their indices.
type ring struct {
	which      int // of the entries' links
	head, tail int32
}

// link is an entry's place in one list.
type link struct{ prev, next int32 }

const none int32 = -1

const (
	inAsking = iota
	inKnown
)

func (r *ring) pushBack(e []neighbour, i int32) {
	e[i].links[r.which] = link{prev: r.tail, next: none}
	if r.tail == none {
		r.head = i
	} else {
		e[r.tail].links[r.which].next = i
	}
	r.tail = i
}

func (r *ring) pushFront(e []neighbour, i int32) {
	e[i].links[r.which] = link{prev: none, next: r.head}
	if r.head == none {
		r.tail = i
	} else {
		e[r.head].links[r.which].prev = i
	}
	r.head = i
}

func (r *ring) remove(e []neighbour, i int32) {
	l := e[i].links[r.which]
	if l.prev == none {
		r.head = l.next
	} else {
		e[l.prev].links[r.which].next = l.next
	}
	if l.next == none {
		r.tail = l.prev
	} else {
		e[l.next].links[r.which].prev = l.prev
	}
}
