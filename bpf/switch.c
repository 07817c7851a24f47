//go:build ignore
/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The program of a switch port: everything goes to the socket, classified and stamped. */

#include "classify.h"

/* What the watchdog's verdict dropped, over all CPUs, in memory that the loader maps: the lab's clock
 * waits for frames on their way, and must see without a system call that these have arrived.
 * filtered.go has its twin. */
struct filtered {
	__u64 frames[CLASSES];
	__u64 bytes[CLASSES];
	__u64 told; /* frames of kinds that the sender tells the clock of */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct filtered);
} filtered SEC(".maps");

/* filter drops a data frame. Two receive queues may do so at once. */
static __always_inline int filter(struct xdp_md *ctx, const struct port_config *cfg,
				  const struct class *c, const struct tag *tag, struct counters *n)
{
	__u8 tc = c->tc & 7;
	__u32 zero = 0;
	struct filtered *f = bpf_map_lookup_elem(&filtered, &zero);
	if (!f)
		return XDP_ABORTED;
	n->watchdog[tc]++;
	__sync_fetch_and_add(&f->bytes[tc], frame_len(ctx) + (tag->proto ? TAG_LEN : 0));
	/* Last: who sees the frame sees its bytes. */
	__sync_fetch_and_add(&f->frames[tc], 1);
	if (cfg->told >> c->kind & 1)
		__sync_fetch_and_add(&f->told, 1);
	return XDP_DROP;
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
		if (cfg->watchdog & 1 << (c.tc & 7))
			return filter(ctx, cfg, &c, tag, n);
	}
	return to_socket(ctx, &c, tag, n);
}

SEC("xdp")
int switch_port(struct xdp_md *ctx)
{
	struct tag none = {};
	return take(ctx, &none);
}

/* For a device that can tell a tag beside the frame. */
SEC("xdp")
int switch_port_tag(struct xdp_md *ctx)
{
	struct tag tag = held_tag(ctx);
	return take(ctx, &tag);
}

char _license[] SEC("license") = "Dual BSD/GPL";
