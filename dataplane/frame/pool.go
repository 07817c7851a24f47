package frame

import "fmt"

// Pool is a fixed number of frames of a fixed capacity. It never grows.
type Pool struct {
	free  []*Frame
	total int
	size  int
}

// NewPool makes n frames that hold up to size bytes each.
func NewPool(n, size int) *Pool {
	if n <= 0 || size <= 0 {
		panic(fmt.Sprintf("frame: pool of %d frames of %d bytes", n, size))
	}
	stride := size + headroom
	slab := make([]byte, n*stride)
	frames := make([]Frame, n)
	p := &Pool{free: make([]*Frame, n), total: n, size: size}
	for i := range frames {
		f := &frames[i]
		f.buf = slab[i*stride : (i+1)*stride : (i+1)*stride]
		f.pool = p
		p.free[n-1-i] = f
	}
	return p
}

// Get returns an empty frame with clear metadata, or nil when all are in use.
func (p *Pool) Get() *Frame {
	n := len(p.free)
	if n == 0 {
		return nil
	}
	f := p.free[n-1]
	p.free = p.free[:n-1]
	f.Meta, f.off, f.size, f.owned = Meta{}, headroom, 0, true
	return f
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
func (p *Pool) Free() int { return len(p.free) }

// InUse is how many frames are owned by somebody.
func (p *Pool) InUse() int { return p.total - len(p.free) }
