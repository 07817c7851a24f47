package frame

import (
	"fmt"
	"slices"
)

// Pool is at most so many frames of a fixed capacity. Its memory is that of the most frames that
// were ever in use together, so that a fabric of a thousand hosts, most of them idle, is small.
type Pool struct {
	free  []*Frame
	made  int
	total int
	size  int
	slab  []byte // of buffers that have their full size
}

// narrow is the size of a buffer at first: room for the headers of RoCE over IPv6 with a tag, those
// of congestion feedback, and the telemetry of a path.
const narrow = 256

// Frames are made as many at a time as there are, within bounds.
const (
	leastMade = 16
	mostMade  = 256
)

// NewPool makes a pool of up to n frames that hold up to size bytes each.
func NewPool(n, size int) *Pool {
	if n <= 0 || size <= 0 {
		panic(fmt.Sprintf("frame: pool of %d frames of %d bytes", n, size))
	}
	return &Pool{total: n, size: size}
}

// Get returns an empty frame with clear metadata, or nil when all are in use.
func (p *Pool) Get() *Frame {
	n := len(p.free)
	if n == 0 {
		if n = p.grow(); n == 0 {
			return nil
		}
	}
	f := p.free[n-1]
	p.free = p.free[:n-1]
	f.Meta, f.size, f.run, f.owned = Meta{}, 0, run{}, true
	return f
}

// grow makes more frames and returns how many.
func (p *Pool) grow() int {
	n := min(max(p.made, leastMade), mostMade, p.total-p.made)
	stride := min(p.size, narrow)
	slab := make([]byte, n*stride)
	frames := make([]Frame, n)
	p.made += n
	p.free = slices.Grow(p.free, p.made)
	for i := range frames {
		f := &frames[i]
		f.buf = slab[i*stride : (i+1)*stride : (i+1)*stride]
		f.pool = p
		p.free = append(p.free, f)
	}
	return n
}

// wide returns a buffer for a frame of the pool's size. There are at most as many as frames.
func (p *Pool) wide() []byte {
	if len(p.slab) < p.size {
		p.slab = make([]byte, min(max(p.made/4, leastMade), mostMade)*p.size)
	}
	b := p.slab[:p.size:p.size]
	p.slab = p.slab[p.size:]
	return b
}

func (p *Pool) put(f *Frame) {
	if !f.owned {
		panic("frame: released twice")
	}
	f.owned = false
	p.free = append(p.free, f)
}

// Size is how many bytes of frame a frame of the pool holds.
func (p *Pool) Size() int { return p.size }

// Free is how many frames Get can still return.
func (p *Pool) Free() int { return p.total - p.InUse() }

// InUse is how many frames are owned by somebody.
func (p *Pool) InUse() int { return p.made - len(p.free) }
