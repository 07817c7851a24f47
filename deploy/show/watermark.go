package show

import (
	"strings"

	"github.com/rocelab/rocelab/switchd"
)

// Watermarks is `show priority-group watermark`, `show queue watermark` and their persistent
// sisters: the most that was stored since the watermarks were cleared.
type Watermarks struct {
	Head
	Ports  []WatermarkPort `json:"ports"`
	title  string
	prefix string // of the columns
}

// WatermarkPort is one port's, by priority group or queue.
type WatermarkPort struct {
	Port  string   `json:"port"`
	Bytes [8]int64 `json:"watermark_bytes"`
}

// Kind chooses one of the two watermarks that everything has.
type Kind int

// The kinds. Each is cleared on its own.
const (
	User       Kind = iota // SONiC: watermark
	Persistent             // SONiC: persistent-watermark
)

func (k Kind) of(u switchd.UseState) int64 {
	if k == Persistent {
		return u.PersistentWatermark
	}
	return u.Watermark
}

func watermarks(st *switchd.State, title, prefix string,
	of func(*switchd.PortState, int) int64) *Watermarks {
	b := &Watermarks{Head: head(st), Ports: []WatermarkPort{}, title: title, prefix: prefix}
	for i := range st.Ports {
		row := WatermarkPort{Port: st.Ports[i].Name}
		for n := range row.Bytes {
			row.Bytes[n] = of(&st.Ports[i], n)
		}
		b.Ports = append(b.Ports, row)
	}
	return b
}

// NewGroupShared is `show priority-group watermark shared`.
func NewGroupShared(st *switchd.State, k Kind) *Watermarks {
	return watermarks(st, "Ingress shared pool occupancy per PG:", "PG",
		func(p *switchd.PortState, n int) int64 { return k.of(p.Groups[n].Shared) })
}

// NewGroupHeadroom is `show priority-group watermark headroom`.
func NewGroupHeadroom(st *switchd.State, k Kind) *Watermarks {
	return watermarks(st, "Ingress headroom per PG:", "PG",
		func(p *switchd.PortState, n int) int64 { return k.of(p.Groups[n].Headroom) })
}

// GroupWatermarks is `show priority-group watermark` without a further word: both its tables.
type GroupWatermarks struct {
	Head
	Shared   *Watermarks `json:"shared"`
	Headroom *Watermarks `json:"headroom"`
}

// NewGroupWatermarks is both tables of priority groups.
func NewGroupWatermarks(st *switchd.State, k Kind) *GroupWatermarks {
	return &GroupWatermarks{head(st), NewGroupShared(st, k), NewGroupHeadroom(st, k)}
}

// Text implements Block.
func (b *GroupWatermarks) Text() string { return b.Shared.Text() + "\n" + b.Headroom.Text() }

// NewQueueUnicast is `show queue watermark unicast`. All queues are of that kind here: flooded
// frames are in them too.
func NewQueueUnicast(st *switchd.State, k Kind) *Watermarks {
	return watermarks(st, "Egress shared pool occupancy per unicast queue:", "UC",
		func(p *switchd.PortState, n int) int64 { return k.of(p.Queues[n].UseState) })
}

// Text implements Block.
func (b *Watermarks) Text() string {
	t := right(titles("Port", b.prefix)...)
	for i := range b.Ports {
		t.row(eight(b.Ports[i].Port, b.Ports[i].Bytes, plain[int64])...)
	}
	return b.title + "\n" + t.String()
}

// PoolWatermarks is `show buffer_pool watermark` and `show headroom-pool watermark`.
type PoolWatermarks struct {
	Head
	Pools []PoolWatermark `json:"pools"`
	title string
}

// PoolWatermark is one pool's.
type PoolWatermark struct {
	Pool      string `json:"pool"`
	Direction string `json:"direction"`
	Bytes     int64  `json:"watermark_bytes"`
	SizeBytes int64  `json:"size_bytes"`
}

// NewPoolWatermarks shows all pools, reserved and headroom parts included.
func NewPoolWatermarks(st *switchd.State, k Kind) *PoolWatermarks {
	b := &PoolWatermarks{Head: head(st), Pools: []PoolWatermark{},
		title: "Shared pool maximum occupancy:"}
	for _, p := range st.Pools {
		b.Pools = append(b.Pools, PoolWatermark{p.Name, p.Direction, k.of(p.UseState),
			p.SizeBytes})
	}
	return b
}

// NewHeadroomWatermarks shows the pools that have headroom.
func NewHeadroomWatermarks(st *switchd.State, k Kind) *PoolWatermarks {
	b := &PoolWatermarks{Head: head(st), Pools: []PoolWatermark{},
		title: "Headroom pool maximum occupancy:"}
	for _, p := range st.Pools {
		if p.HeadroomSizeBytes > 0 {
			b.Pools = append(b.Pools, PoolWatermark{p.Name, p.Direction, k.of(p.Headroom),
				p.HeadroomSizeBytes})
		}
	}
	return b
}

// Text implements Block.
func (b *PoolWatermarks) Text() string {
	t := right("Pool", "Bytes")
	for _, p := range b.Pools {
		t.row(p.Pool, plain(p.Bytes))
	}
	return b.title + "\n" + t.String()
}

// GroupDrops is `show priority-group drop counters`.
type GroupDrops struct {
	Head
	Ports []GroupDropsPort `json:"ports"`
}

// GroupDropsPort is one port's. A drop in a lossless group means that PFC came too late.
type GroupDropsPort struct {
	Port    string    `json:"port"`
	Packets [8]uint64 `json:"dropped_packets"`
}

// NewGroupDrops shows the drops of st.
func NewGroupDrops(st *switchd.State) *GroupDrops {
	b := &GroupDrops{Head: head(st), Ports: []GroupDropsPort{}}
	for i := range st.Ports {
		row := GroupDropsPort{Port: st.Ports[i].Name}
		for n := range row.Packets {
			row.Packets[n] = st.Ports[i].Groups[n].DroppedPackets
		}
		b.Ports = append(b.Ports, row)
	}
	return b
}

// Text implements Block.
func (b *GroupDrops) Text() string {
	t := right(titles("Port", "PG")...)
	for i := range b.Ports {
		t.row(eight(b.Ports[i].Port, b.Ports[i].Packets, plain[uint64])...)
	}
	return strings.Join([]string{b.cached(""), "Ingress PG dropped packets:\n", t.String()}, "")
}
