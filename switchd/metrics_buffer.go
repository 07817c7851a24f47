package switchd

import "github.com/rocelab/rocelab/switchd/pipeline"

// The metrics of the buffer: groups, pools and their headroom. Watermarks start again from what is
// stored at POST /v1/watermarks/clear, each kind on its own.

var (
	byGroup    = []string{"port", "priority_group"}
	byPool     = []string{"pool", "direction"}
	byHeadroom = []string{"pool"}
)

// poolDirections are the values of the label, SONiC's BUFFER_POOL type.
var poolDirections = [...]string{pipeline.Ingress: "ingress", pipeline.Egress: "egress"}

var groupMetrics = []metric[pipeline.GroupSnapshot]{
	counter("priority_group_admitted_packets_total",
		"Packets stored (SAI_INGRESS_PRIORITY_GROUP_STAT_PACKETS, which may count dropped ones).",
		byGroup, func(g *pipeline.GroupSnapshot) float64 { return float64(g.Admitted.Frames) }),
	counter("priority_group_admitted_bytes_total",
		"Bytes stored (SAI_INGRESS_PRIORITY_GROUP_STAT_BYTES).",
		byGroup, func(g *pipeline.GroupSnapshot) float64 { return float64(g.Admitted.Bytes) }),
	counter("priority_group_dropped_packets_total",
		"Packets dropped at the group's limit; in a lossless group, lossless violated "+
			"(SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS).",
		byGroup, func(g *pipeline.GroupSnapshot) float64 { return float64(g.Dropped) }),
	gauge("priority_group_reserved_occupancy_bytes", "Bytes of the group's own reserved stored.",
		byGroup, func(g *pipeline.GroupSnapshot) float64 { return float64(g.Reserved) }),
	gauge("priority_group_shared_occupancy_bytes",
		"Bytes of shared stored (SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_CURR_OCCUPANCY_BYTES).",
		byGroup, func(g *pipeline.GroupSnapshot) float64 { return float64(g.Shared) }),
	gauge("priority_group_shared_watermark_bytes",
		"Most bytes of shared stored since the last clear "+
			"(SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES).",
		byGroup, func(g *pipeline.GroupSnapshot) float64 { return float64(g.SharedWatermark) }),
	gauge("priority_group_shared_persistent_watermark_bytes",
		"Most bytes of shared stored since the last clear of persistent watermarks.",
		byGroup, func(g *pipeline.GroupSnapshot) float64 { return float64(g.SharedPersistent) }),
	gauge("priority_group_shared_limit_bytes",
		"Bytes of shared that the group may store at this moment.",
		byGroup, func(g *pipeline.GroupSnapshot) float64 { return float64(g.Limit) }),
	gauge("priority_group_headroom_occupancy_bytes",
		"Bytes of headroom stored "+
			"(SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_CURR_OCCUPANCY_BYTES).",
		byGroup, func(g *pipeline.GroupSnapshot) float64 { return float64(g.Headroom) }),
	gauge("priority_group_headroom_watermark_bytes",
		"Most bytes of headroom stored since the last clear "+
			"(SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES).",
		byGroup, func(g *pipeline.GroupSnapshot) float64 { return float64(g.HeadroomWatermark) }),
	gauge("priority_group_headroom_persistent_watermark_bytes",
		"Most bytes of headroom stored since the last clear of persistent watermarks.",
		byGroup, func(g *pipeline.GroupSnapshot) float64 { return float64(g.HeadroomPersistent) }),
	gauge("priority_group_headroom_limit_bytes",
		"Bytes of headroom that the group may store; a shared headroom pool may have less.",
		byGroup, func(g *pipeline.GroupSnapshot) float64 { return float64(g.HeadroomLimit) }),
}

var poolMetrics = []metric[pipeline.PoolSnapshot]{
	gauge("buffer_pool_occupancy_bytes",
		"Bytes stored, all parts of the pool (SAI_BUFFER_POOL_STAT_CURR_OCCUPANCY_BYTES).",
		byPool, func(p *pipeline.PoolSnapshot) float64 { return float64(p.Occupancy) }),
	gauge("buffer_pool_watermark_bytes",
		"Most bytes stored since the last clear (SAI_BUFFER_POOL_STAT_WATERMARK_BYTES).",
		byPool, func(p *pipeline.PoolSnapshot) float64 { return float64(p.Watermark) }),
	gauge("buffer_pool_persistent_watermark_bytes",
		"Most bytes stored since the last clear of persistent watermarks.",
		byPool, func(p *pipeline.PoolSnapshot) float64 { return float64(p.Persistent) }),
	gauge("buffer_pool_size_bytes", "Bytes that the pool has.",
		byPool, func(p *pipeline.PoolSnapshot) float64 { return float64(p.Size) }),
	gauge("buffer_pool_shared_bytes",
		"Bytes of the pool that are shared: what reserved and headroom leave.",
		byPool, func(p *pipeline.PoolSnapshot) float64 { return float64(p.Shared) }),
}

var headroomMetrics = []metric[pipeline.PoolSnapshot]{
	gauge("headroom_pool_occupancy_bytes",
		"Bytes of headroom stored (SAI_BUFFER_POOL_STAT_XOFF_ROOM_CURR_OCCUPANCY_BYTES).",
		byHeadroom,
		func(p *pipeline.PoolSnapshot) float64 { return float64(p.Headroom.Occupancy) }),
	gauge("headroom_pool_watermark_bytes",
		"Most bytes of headroom stored since the last clear "+
			"(SAI_BUFFER_POOL_STAT_XOFF_ROOM_WATERMARK_BYTES).",
		byHeadroom,
		func(p *pipeline.PoolSnapshot) float64 { return float64(p.Headroom.Watermark) }),
	gauge("headroom_pool_persistent_watermark_bytes",
		"Most bytes of headroom stored since the last clear of persistent watermarks.",
		byHeadroom,
		func(p *pipeline.PoolSnapshot) float64 { return float64(p.Headroom.Persistent) }),
	gauge("headroom_pool_size_bytes", "Bytes of headroom that the pool's groups have together.",
		byHeadroom,
		func(p *pipeline.PoolSnapshot) float64 { return float64(p.HeadroomSize) }),
}
