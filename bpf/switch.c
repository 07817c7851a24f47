//go:build ignore
/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The program of a switch port: everything goes to the socket, classified and stamped. */

#include "classify.h"

/* A record of a dropped frame: its check, and in these bits its length, its class, and in which turn
 * of the ring it was written. */
#define CHECK_BITS 40
#define LENGTH_AT CHECK_BITS
#define CLASS_AT (LENGTH_AT + 16)
#define TURN_AT (CLASS_AT + 3)
#define DROPS 256 /* as many as a direction of a link has frames on their way (clock.LinkFrames) */

#define CHECKED 80 /* bytes of which the check is made */
#define CHECK_MIX 0x9e3779b97f4a7c15ULL

/* What the watchdog's verdict dropped, in memory that the loader maps: the lab's clock waits for
 * frames on their way, and must see without a system call that these have arrived. Of frames whose
 * sender tells the clock when they arrive there is a record each, so that they count then. Of all
 * others there is a sum over all CPUs. filtered.go has its twin. */
struct filtered {
	__u64 frames[CLASSES]; /* without a record */
	__u64 bytes[CLASSES];
	__u64 recorded;	    /* records written */
	__u64 read;	    /* records that the loader has done with; it writes this itself */
	__u64 drops[DROPS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct filtered);
} filtered SEC(".maps");

/* check is clock.CheckOf in Go: what tells a frame from the others on its way. */
static __always_inline __u64 check(struct xdp_md *ctx, __u32 len)
{
	const __u8 *b = (const __u8 *)(unsigned long)ctx->data;
	const __u8 *end = (const __u8 *)(unsigned long)ctx->data_end;
	__u64 h = len * CHECK_MIX;
#pragma unroll
	for (int i = 0; i < CHECKED; i += 8) {
		if (b + i + 8 > end)
			break;
		h = (h ^ *(const __u64 *)(b + i)) * CHECK_MIX;
		h ^= h >> 32;
	}
	return h >> (64 - CHECK_BITS);
}

/* record leaves a record of a frame, unless the ring is full. All frames that their sender tells of
 * come by one receive queue, which one CPU serves at a time. A record is one word, so who sees it
 * sees all of it. */
static __always_inline bool record(struct filtered *f, __u64 check, __u32 len, __u8 tc)
{
	__u64 n = f->recorded;
	if (n - *(volatile __u64 *)&f->read >= DROPS || len > 0xffff)
		return false;
	f->recorded = n + 1;
	__u64 turn = n / DROPS + 1;
	*(volatile __u64 *)&f->drops[n % DROPS] =
		turn << TURN_AT | (__u64)tc << CLASS_AT | (__u64)len << LENGTH_AT | check;
	return true;
}

/* filter drops a data frame. Two receive queues may do so at once. Nobody who tells the clock puts
 * a tag beside a frame. */
static __always_inline int filter(struct xdp_md *ctx, const struct port_config *cfg,
				  const struct class *c, const struct tag *tag, struct counters *n)
{
	__u8 tc = c->tc & 7;
	__u32 zero = 0, len = frame_len(ctx);
	struct filtered *f = bpf_map_lookup_elem(&filtered, &zero);
	if (!f)
		return XDP_ABORTED;
	n->watchdog[tc]++;
	if (!tag->proto && cfg->told >> c->kind & 1 && record(f, check(ctx, len), len, tc))
		return XDP_DROP;
	__sync_fetch_and_add(&f->bytes[tc], len + (tag->proto ? TAG_LEN : 0));
	/* Last: who sees the frame sees its bytes. */
	__sync_fetch_and_add(&f->frames[tc], 1);
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
