package switchd

import "github.com/rocelab/rocelab/switchd/pipeline"

// The metrics of forwarding. What was dropped is in port_dropped_packets_total by reason: ttl,
// no_route, no_neighbour, incomplete_arp, ip2me, isolated.

var forwardingMetrics = []metric[pipeline.Snapshot]{
	gauge("mac_table_entries",
		"Addresses in the MAC table, aged ones that are still in their place included "+
			"(SAI_SWITCH_ATTR_AVAILABLE_FDB_ENTRY counts the others).", nil,
		func(s *pipeline.Snapshot) float64 { return float64(s.MACs) }),
	counter("mac_table_full_total",
		"Frames whose source was not learnt because the MAC table was full.", nil,
		func(s *pipeline.Snapshot) float64 { return float64(s.FIB.Full) }),
	counter("mac_table_learnt_total", "Addresses learnt (SAI_FDB_EVENT_LEARNED).", nil,
		func(s *pipeline.Snapshot) float64 { return float64(s.FIB.Learnt) }),
	counter("mac_table_moved_total", "Addresses seen on another port (SAI_FDB_EVENT_MOVE).", nil,
		func(s *pipeline.Snapshot) float64 { return float64(s.FIB.Moved) }),
	counter("mac_table_missed_total",
		"Frames to one station whose address was not known: flooded, or an incomplete ARP entry.",
		nil, func(s *pipeline.Snapshot) float64 { return float64(s.FIB.Missed) }),
	gauge("route_entries", "Routes, those of interfaces included (crm_stats_ipv4_route_used).", nil,
		func(s *pipeline.Snapshot) float64 { return float64(s.Router.Routes) }),
	gauge("nexthop_group_entries", "Groups of next hops (crm_stats_nexthop_group_used).", nil,
		func(s *pipeline.Snapshot) float64 { return float64(s.Router.Groups) }),
	gauge("neighbor_entries",
		"Neighbours by ARP and ND, those being asked for included (crm_stats_ipv4_neighbor_used).",
		nil, func(s *pipeline.Snapshot) float64 { return float64(s.Router.Neighbours) }),
	gauge("neighbor_waiting_packets", "Packets that wait for a neighbour's MAC address.", nil,
		func(s *pipeline.Snapshot) float64 { return float64(s.Router.Held) }),
	counter("neighbor_solicitations_total", "ARP requests and neighbour solicitations sent.", nil,
		func(s *pipeline.Snapshot) float64 { return float64(s.Router.Stats.Solicited) }),
	counter("neighbor_resolved_total", "Neighbours found that were not known.", nil,
		func(s *pipeline.Snapshot) float64 { return float64(s.Router.Stats.Resolved) }),
	counter("neighbor_failed_total", "Neighbours that did not answer.", nil,
		func(s *pipeline.Snapshot) float64 { return float64(s.Router.Stats.Failed) }),
	counter("neighbor_timed_out_total", "Neighbours that were not confirmed in time.", nil,
		func(s *pipeline.Snapshot) float64 { return float64(s.Router.Stats.TimedOut) }),
	counter("neighbor_overflowed_total",
		"Packets that could not wait for a neighbour because too many did.", nil,
		func(s *pipeline.Snapshot) float64 { return float64(s.Router.Stats.Overflowed) }),
	counter("neighbor_full_total", "Neighbours for which there was no room.", nil,
		func(s *pipeline.Snapshot) float64 { return float64(s.Router.Stats.Full) }),
}
