package mmu

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/rocelab/rocelab/dataplane/frame"
	"github.com/rocelab/rocelab/dataplane/unit"
)

// used is how many groups and queues of a port see traffic: more would only spread it thin.
const used = 3

func drawBytes(t *rapid.T, label string, of ...int) unit.Bytes {
	return unit.Bytes(rapid.SampledFrom(of).Draw(t, label))
}

func drawLimit(t *rapid.T) Limit {
	if rapid.Bool().Draw(t, "dynamic") {
		return Alpha(int64(rapid.IntRange(0, 9).Draw(t, "num")),
			int64(rapid.IntRange(1, 9).Draw(t, "den")))
	}
	return Limit{Static: unit.Bytes(rapid.IntRange(0, 9000).Draw(t, "static"))}
}

func drawProfile(t *rapid.T, pools int) Profile {
	p := Profile{
		Pool:      rapid.IntRange(0, pools-1).Draw(t, "pool"),
		Reserved:  drawBytes(t, "reserved", 0, 0, 700, 3000),
		XON:       drawBytes(t, "xon", 0, 500),
		XONOffset: drawBytes(t, "offset", 0, 300, 2000),
		Limit:     drawLimit(t),
	}
	if rapid.Bool().Draw(t, "lossless") {
		p.Lossless = true
		p.Headroom = drawBytes(t, "headroom", 0, 900, 2500)
	}
	return p
}

// drawConfig is a buffer of two ports that is valid.
func drawConfig(t *rapid.T, cell unit.Bytes) Config {
	c := Config{Cell: cell, Groups: make([][Groups]Profile, 2),
		Queues: make([][Queues]QueueProfile, 2)}
	names := rapid.Permutation([]string{"a", "b", "c", "d"}).Draw(t, "names")
	for i := range rapid.IntRange(1, 2).Draw(t, "ingress pools") {
		c.Pools = append(c.Pools, Pool{Name: names[i], Size: 48000,
			SharedHeadroom: drawBytes(t, "shared headroom", 0, 0, 1500, 4000)})
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "egress pools") {
		c.EgressPools = append(c.EgressPools, Pool{Name: "e" + names[i], Size: 30000})
	}
	for port := range c.Groups {
		for i := range used {
			c.Groups[port][i] = drawProfile(t, len(c.Pools))
			q := &c.Queues[port][i]
			q.Max = drawBytes(t, "max", 0, 0, 7000)
			if n := len(c.EgressPools); n > 0 {
				q.Pool = rapid.IntRange(0, n-1).Draw(t, "egress pool")
				q.Reserved, q.Limit = drawBytes(t, "queue reserved", 0, 2000), drawLimit(t)
			}
		}
	}
	return c
}

// pair is a buffer and the model that says what it must do.
type pair struct {
	b    *Buffer
	m    *model
	told map[[2]int]bool
}

func (p *pair) admit(t *rapid.T) {
	at := func(label string) [2]int {
		return [2]int{rapid.IntRange(0, 1).Draw(t, label),
			rapid.IntRange(0, used-1).Draw(t, label)}
	}
	s := stored{g: at("in"), q: at("out"), n: unit.Bytes(rapid.IntRange(60, 1600).Draw(t, "n"))}
	if got, want := p.b.Admit(s.where(), s.n), p.m.admit(s); got != want {
		t.Fatalf("admit %+v: %v, model %v", s, got, want)
	}
}

func (p *pair) release(t *rapid.T) {
	if len(p.m.in) == 0 {
		return // nothing is stored
	}
	i := rapid.IntRange(0, len(p.m.in)-1).Draw(t, "which")
	p.b.Release(p.m.in[i].where(), p.m.in[i].n)
	p.m.release(i)
}

func (p *pair) reconfigure(t *rapid.T) {
	c := drawConfig(t, p.m.cfg.Cell)
	if err := p.b.Reconfigure(c); err != nil {
		t.Fatal(err)
	}
	p.m.reconfigure(c)
}

// refused is a change that no buffer can make; the model does not see it.
func (p *pair) refused(t *rapid.T) {
	c := drawConfig(t, p.m.cfg.Cell)
	switch rapid.IntRange(0, 2).Draw(t, "fault") {
	case 0:
		c.Cell += 8
	case 1:
		c.Groups, c.Queues = c.Groups[:1], c.Queues[:1]
	case 2:
		c.Groups[0][0].Reserved = 48001
	}
	if err := p.b.Reconfigure(c); err == nil {
		t.Fatalf("took %+v", c)
	}
}

func (p *pair) clear(t *rapid.T) {
	kind := Watermark(rapid.IntRange(0, int(kinds)-1).Draw(t, "kind"))
	of := Object(rapid.IntRange(0, int(objects)-1).Draw(t, "object"))
	p.b.ClearWatermark(kind, of)
	p.m.clear(kind, of)
}

// TestAgainstModel: on random buffers, random traffic and random changes of the configuration, the
// account and the model agree about every verdict, every use, every watermark and every change.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t, drawBytes(t, "cell", 0, 0, 208, 256))
		b, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		p := &pair{b: b, m: newModel(c), told: map[[2]int]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"admit": p.admit, "admit2": p.admit, "admit3": p.admit, "admit4": p.admit,
			"admit5": p.admit, "admit6": p.admit, "admit7": p.admit, "admit8": p.admit,
			"release": p.release, "release2": p.release, "release3": p.release,
			"reconfigure": p.reconfigure, "refused": p.refused, "clear": p.clear,
			"": func(t *rapid.T) {
				for _, c := range changes(b) {
					at := [2]int{int(c.Port), int(c.Group)}
					if p.told[at] == c.XOFF {
						t.Fatalf("told twice: %+v", c)
					}
					p.told[at] = c.XOFF
				}
				p.m.note()
				p.compareGroups(t)
				p.compareQueues(t)
				p.comparePools(t)
			},
		})
	})
}

func (p *pair) compareGroups(t *rapid.T) {
	m := p.m
	m.each(func(k [2]int) {
		got := p.b.Group(frame.PortID(k[0]), PG(k[1]))
		shared, headroom := key{of: GroupShared, at: k}, key{of: GroupHeadroom, at: k}
		want := GroupUse{Reserved: m.own(k) - m.shared(k), Shared: m.shared(k),
			Headroom: m.headroom[k], Limit: m.limit(k), HeadroomLimit: m.group(k).Headroom,
			SharedWatermark:    m.most[UserWatermark][shared],
			HeadroomWatermark:  m.most[UserWatermark][headroom],
			SharedPersistent:   m.most[PersistentWatermark][shared],
			HeadroomPersistent: m.most[PersistentWatermark][headroom],
			XOFF:               m.xoff[k], Admitted: m.admitted[k], Dropped: m.dropped[k]}
		if got != want || p.told[k] != m.xoff[k] {
			t.Fatalf("group %v: %+v, told %v, model %+v", k, got, p.told[k], want)
		}
	})
}

func (p *pair) use(k key, now unit.Bytes) Use {
	return Use{now, p.m.most[UserWatermark][k], p.m.most[PersistentWatermark][k]}
}

func (p *pair) compareQueues(t *rapid.T) {
	p.m.each(func(k [2]int) {
		port, q := frame.PortID(k[0]), Queue(k[1])
		want := p.use(key{of: QueueStored, at: k}, p.m.inQueue(k))
		got, bytes := p.b.Queue(port, q), p.b.QueueBytes(port, q)
		if got != want || bytes != want.Occupancy {
			t.Fatalf("queue %v: %+v, %d bytes, model %+v", k, got, bytes, want)
		}
		if n := len(p.m.cfg.EgressPools); n > 0 {
			profile := p.m.queue(k)
			want := limitOf(profile.Limit, p.m.egressFree(profile.Pool))
			if got := p.b.QueueLimit(port, q); got != want {
				t.Fatalf("queue %v: limit %d, model %d", k, got, want)
			}
		}
	})
}

func (p *pair) comparePools(t *rapid.T) {
	now := p.m.look()
	for i, pool := range p.m.cfg.Pools {
		k := key{of: PoolStored, pool: pool.Name}
		if got, want := p.b.Pool(i), p.use(k, now[k]); got != want {
			t.Fatalf("pool %s: %+v, model %+v", pool.Name, got, want)
		}
		k.of = PoolHeadroom
		if got, want := p.b.Headroom(i), p.use(k, now[k]); got != want {
			t.Fatalf("headroom of %s: %+v, model %+v", pool.Name, got, want)
		}
		if size, _ := p.m.headroomOf(i); p.b.HeadroomSize(i) != size {
			t.Fatalf("headroom of %s: size %d, model %d", pool.Name, p.b.HeadroomSize(i), size)
		}
	}
	for i, pool := range p.m.cfg.EgressPools {
		k := key{of: PoolStored, pool: pool.Name}
		if got, want := p.b.EgressPool(i), p.use(k, now[k]); got != want {
			t.Fatalf("egress pool %s: %+v, model %+v", pool.Name, got, want)
		}
	}
}
