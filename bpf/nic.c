//go:build ignore
/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The program of a NIC: RDMA and its flow control go to the socket, the rest to the kernel. */

#include "classify.h"

SEC("xdp")
int nic(struct xdp_md *ctx)
{
	__u32 zero = 0;
	const struct port_config *cfg = bpf_map_lookup_elem(&config, &zero);
	struct counters *n = bpf_map_lookup_elem(&counts, &zero);
	if (!cfg || !n)
		return XDP_ABORTED;

	n->received++;
	struct class c = classify(ctx, cfg);
	switch (c.kind) {
	case KIND_PFC:
		count_pfc(ctx, n);
		return to_socket(ctx, &c, n);
	case KIND_PAUSE:
	case KIND_CNM:
	case KIND_ROCE4:
	case KIND_ROCE6:
		return to_socket(ctx, &c, n);
	case KIND_MALFORMED:
		n->malformed++;
	}
	n->to_kernel++;
	return XDP_PASS;
}

char _license[] SEC("license") = "Dual BSD/GPL";
