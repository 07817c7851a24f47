package qp

import "github.com/rocelab/rocelab/roce/ib"

// span is memory of a region, found once by key and address and checked again at each use.
type span struct {
	mr    *Region // nil: the bytes are nobody's, or there are none
	bytes []byte
	void  int    // in place of bytes: so many of a void region
	off   uint64 // in the region, when the span was found
}

// live reports whether the region still exists.
func (s *span) live() bool { return s.mr == nil || !s.mr.gone }

func (s *span) len() int { return len(s.bytes) + s.void }

// cut is the memory of a span from one byte to before another. Both may be behind its end.
func (s *span) cut(from, to int) span {
	if s.void > 0 {
		return span{void: min(to, s.void) - min(from, s.void)}
	}
	return span{bytes: s.bytes[min(from, len(s.bytes)):min(to, len(s.bytes))]}
}

// fill puts the payload of p, which must fit, at the start of a span.
func (s *span) fill(p *ib.Packet) {
	switch {
	case s.void > 0:
	case p.Zeros > 0:
		clear(s.bytes[:p.Zeros])
	default:
		copy(s.bytes, p.Payload)
	}
}

// skip moves the start of a span by n bytes.
func (s *span) skip(n int) {
	if s.void > 0 {
		s.void -= n
	} else {
		s.bytes = s.bytes[n:]
	}
}

// span returns the n bytes at va of the region with that key, and false if there are not such,
// or not in that domain. A zero length needs no region: IBTA 9.7.5.2.4 checks no key for it.
func (m *Memory) span(pd PD, key uint32, va uint64, n int) (span, bool) {
	if n == 0 {
		return span{}, true
	}
	r := m.byKey[key]
	if r == nil || r.PD != pd || va < r.VA || n < 0 {
		return span{}, false
	}
	off := va - r.VA
	if off > uint64(r.size) || uint64(n) > uint64(r.size)-off {
		return span{}, false
	}
	if r.Bytes == nil {
		return span{mr: r, void: n, off: off}, true
	}
	return span{mr: r, bytes: r.Bytes[off : off+uint64(n) : off+uint64(n)], off: off}, true
}

// real is span for those who need bytes.
func (m *Memory) real(pd PD, l Local, write bool) (span, bool) {
	s, ok := m.local(pd, l, write)
	return s, ok && s.void == 0
}
