/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What the two XDP programs share: maps, counters, and the metadata in front of a frame. */
#ifndef ROCELAB_H
#define ROCELAB_H

#include "bpf_defs.h"

#define CLASSES 8
#define QUEUES 64 /* receive queues of a device, at most */

/* Kinds of frames, equal to frame.Kind in Go. */
enum kind {
	KIND_UNCLASSIFIED,
	KIND_MALFORMED,
	KIND_OTHER,
	KIND_IPV4,
	KIND_IPV6,
	KIND_ROCE4,
	KIND_ROCE6,
	KIND_PFC,
	KIND_PAUSE,
	KIND_MAC_CONTROL,
	KIND_CNM,
};

/* A VLAN tag beside the frame, where a kernel's VLAN device or bridge puts it if the device that
 * sends says that it inserts tags itself. A veth says so, and carries it along. */
struct tag {
	__u16 proto; /* 0: none; network byte order */
	__u16 tci;
};

struct class {
	__u8 kind, tc, ecn, l3off, l4off, dscp;
	__u32 hash;
};

/* The metadata, 32 bytes directly before the frame, little endian. meta.go has its twin. */
struct meta {
	__u32 magic;   /* 0: META_MAGIC; its last character is the version */
	__u32 hash;    /* 4 */
	__u64 arrived; /* 8: CLOCK_MONOTONIC in ns */
	__u8 kind;     /* 16 */
	__u8 tc;       /* 17 */
	__u8 ecn;      /* 18 */
	__u8 l3off;    /* 19 */
	__u8 l4off;    /* 20 */
	__u8 dscp;     /* 21 */
	__u16 zero;    /* 22 */
	__u64 zero2;   /* 24 */
};

#define META_MAGIC 0x314d4c52 /* "RLM1" */

enum trust { TRUST_DSCP, TRUST_PCP };

/* The port's configuration; the Go side writes it whole. */
struct port_config {
	__u8 trust;
	__u8 default_tc;
	__u8 watchdog; /* bit n: drop data frames of traffic class n */
	__u8 zero;
	__u32 told; /* bit n: the sender tells the lab's clock of frames of kind n */
	__u32 ipv4; /* that a NIC answers ARP for; 0: the kernel answers */
	__u8 pcp[8];
	__u8 dscp[64];
};

/* Counters of one CPU, all of 64 bits; counters.go has their twin. */
struct counters {
	__u64 received;
	__u64 to_socket;
	__u64 to_kernel;
	__u64 no_socket; /* dropped: nobody has bound this queue */
	__u64 no_meta;   /* no room for metadata; the socket's owner classifies */
	__u64 no_tag;   /* dropped: no room for the VLAN tag that was beside the frame */
	__u64 malformed;
	__u64 watchdog[CLASSES]; /* dropped by the watchdog's verdict */
	__u64 pfc_frames;
	__u64 pfc_xoff[CLASSES]; /* class enabled, time above zero */
	__u64 pfc_xon[CLASSES];  /* class enabled, time zero */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct port_config);
} config SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counters);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, QUEUES);
	__uint(key_size, 4);
	__uint(value_size, 4);
} xsks SEC(".maps");

/* frags says that frames may have parts outside the linear one that data and data_end bound. The
 * loader sets it together with BPF_F_XDP_HAS_FRAGS; where it is zero the verifier removes the branch,
 * so that older kernels take the program and nobody pays for what is not needed. */
const volatile __u8 frags;

/* frame_len is the length of the whole frame. */
static __always_inline __u32 frame_len(struct xdp_md *ctx)
{
	if (frags)
		return bpf_xdp_get_buff_len(ctx);
	return ctx->data_end - ctx->data;
}

/* stamp puts the metadata in front of the frame. It moves packet pointers. */
static __always_inline bool stamp(struct xdp_md *ctx, const struct class *c)
{
	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(struct meta)))
		return false;
	struct meta *m = (void *)(unsigned long)ctx->data_meta;
	if ((void *)(m + 1) > (void *)(unsigned long)ctx->data)
		return false;
	*m = (struct meta){
		.magic = META_MAGIC,
		.hash = c->hash,
		.arrived = bpf_ktime_get_ns(),
		.kind = c->kind,
		.tc = c->tc,
		.ecn = c->ecn,
		.l3off = c->l3off,
		.l4off = c->l4off,
		.dscp = c->dscp,
	};
	return true;
}

#define TAG_LEN 4

/* insert_tag puts the tag into the frame. It moves packet pointers. */
static __always_inline bool insert_tag(struct xdp_md *ctx, const struct tag *tag)
{
	if (bpf_xdp_adjust_head(ctx, -TAG_LEN))
		return false;
	__u32 *w = (void *)(unsigned long)ctx->data;
	if ((void *)(w + 4) > (void *)(unsigned long)ctx->data_end)
		return false;
	w[0] = w[1]; /* both addresses */
	w[1] = w[2];
	w[2] = w[3];
	__u16 *t = (__u16 *)(w + 3);
	t[0] = tag->proto;
	t[1] = __builtin_bswap16(tag->tci);
	return true;
}

/* to_socket hands the frame, with its tag, to the AF_XDP socket of its receive queue. */
static __always_inline int to_socket(struct xdp_md *ctx, struct class *c, const struct tag *tag,
				     struct counters *n)
{
	if (tag->proto) {
		if (!insert_tag(ctx, tag)) {
			n->no_tag++;
			return XDP_DROP;
		}
		c->l3off += c->l3off ? TAG_LEN : 0;
		c->l4off += c->l4off ? TAG_LEN : 0;
	}
	if (!stamp(ctx, c))
		n->no_meta++;
	/* The lower bits of the flags are the answer if the map has no socket (kernel 5.3). */
	int verdict = bpf_redirect_map(&xsks, ctx->rx_queue_index, XDP_DROP);
	if (verdict == XDP_REDIRECT)
		n->to_socket++;
	else
		n->no_socket++;
	return verdict;
}

#endif
