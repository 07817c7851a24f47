//go:build ignore
/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The program of a NIC: RDMA and its flow control go to the socket, the rest to the kernel, but for
 * who asks for the MAC address of a NIC that answers itself. */

#include "classify.h"

#define TYPE_ARP 0x0806
#define ARP_LEN 28
#define ARP_REQUEST 1

/* asks_for is wire.AsksFor in Go: an ARP request, without a tag, for the MAC address of ip. */
static __always_inline bool asks_for(struct xdp_md *ctx, __u32 ip)
{
	const __u8 *eth = (const __u8 *)(unsigned long)ctx->data;
	const __u8 *arp = eth + ETH_LEN;
	if (arp + ARP_LEN > (const __u8 *)(unsigned long)ctx->data_end)
		return false;
	/* Hardware type Ethernet, protocol type IPv4, and the lengths of their addresses. */
	return get16(eth + 12) == TYPE_ARP && get16(arp) == 1 && get16(arp + 2) == TYPE_IPV4 &&
	       arp[4] == 6 && arp[5] == 4 && get16(arp + 6) == ARP_REQUEST && get32(arp + 24) == ip;
}

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
	case KIND_OTHER:
		if (cfg->ipv4 && !tag->proto && asks_for(ctx, cfg->ipv4))
			return to_socket(ctx, &c, tag, n);
		break;
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
