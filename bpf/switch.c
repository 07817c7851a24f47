//go:build ignore
/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The program of a switch port: everything goes to the socket, classified and stamped. */

#include "classify.h"

SEC("xdp")
int switch_port(struct xdp_md *ctx)
{
	__u32 zero = 0;
	const struct port_config *cfg = bpf_map_lookup_elem(&config, &zero);
	struct counters *n = bpf_map_lookup_elem(&counts, &zero);
	if (!cfg || !n)
		return XDP_ABORTED;

	n->received++;
	struct class c = classify(ctx, cfg);
	switch (c.kind) {
	case KIND_MALFORMED:
		n->malformed++;
		break;
	case KIND_PFC:
		count_pfc(ctx, n);
		break;
	case KIND_PAUSE:
	case KIND_MAC_CONTROL:
		break;
	default:
		/* Data only: the watchdog must go on hearing the storm. */
		if (cfg->watchdog & 1 << (c.tc & 7)) {
			n->watchdog[c.tc & 7]++;
			return XDP_DROP;
		}
	}
	return to_socket(ctx, &c, n);
}

char _license[] SEC("license") = "Dual BSD/GPL";
