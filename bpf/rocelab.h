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

/* to_socket hands the frame to the AF_XDP socket of its receive queue. */
static __always_inline int to_socket(struct xdp_md *ctx, const struct class *c, struct counters *n)
{
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
