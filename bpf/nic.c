//go:build ignore
/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The program of a NIC: RDMA and its flow control go to the socket, the rest to the kernel. */

#include "classify.h"

static __always_inline int take(struct xdp_md *ctx, const struct tag *tag)
{
	__u32 zero = 0;
	const struct port_config *cfg = bpf_map_lookup_elem(&config, &zero);
	struct counters *n = bpf_map_lookup_elem(&counts, &zero);
	if (!cfg || !n)
		return XDP_ABORTED;

	n->received++;
	struct class c = classify(ctx, cfg, tag);
	switch (c.kind) {
	case KIND_PFC:
		count_pfc(ctx, n);
		return to_socket(ctx, &c, tag, n);
	case KIND_PAUSE:
	case KIND_CNM:
	case KIND_ROCE4:
	case KIND_ROCE6:
		return to_socket(ctx, &c, tag, n);
	case KIND_MALFORMED:
		n->malformed++;
	}
	n->to_kernel++;
	return XDP_PASS;
}

SEC("xdp")
int nic(struct xdp_md *ctx)
{
	struct tag none = {};
	return take(ctx, &none);
}

/* For a device that can tell a tag beside the frame. What goes to the kernel keeps it there. */
SEC("xdp")
int nic_tag(struct xdp_md *ctx)
{
	struct tag tag = held_tag(ctx);
	return take(ctx, &tag);
}

char _license[] SEC("license") = "Dual BSD/GPL";
