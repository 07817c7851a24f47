/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The classifier: line by line the twin of dataplane/classify in Go, which says why. */
#ifndef ROCELAB_CLASSIFY_H
#define ROCELAB_CLASSIFY_H

#include "rocelab.h"

#define ETH_LEN 14
#define IPV4_LEN 20
#define IPV6_LEN 40
#define UDP_LEN 8
#define MIN_TCP 20
#define PFC_LEN 20
#define PAUSE_LEN 4

#define TYPE_IPV4 0x0800
#define TYPE_VLAN 0x8100
#define TYPE_STAG 0x88a8
#define TYPE_IPV6 0x86dd
#define TYPE_MAC_CONTROL 0x8808
#define TYPE_CNM 0x22e7
#define TYPE_CNTAG 0x22e9

#define OP_PAUSE 0x0001
#define OP_PFC 0x0101

#define PROTO_TCP 6
#define PROTO_UDP 17
#define PORT_ROCE 4791

/* get16 and get32 read network byte order. */
static __always_inline __u16 get16(const __u8 *p)
{
	return (__u16)p[0] << 8 | p[1];
}

static __always_inline __u32 get32(const __u8 *p)
{
	return __builtin_bswap32(*(const __u32 *)p);
}

/* MurmurHash3 (x86, 32 bits, seed 0) without its length step. */
static __always_inline __u32 rotl32(__u32 x, int n)
{
	return x << n | x >> (32 - n);
}

static __always_inline __u32 hash_word(__u32 h, __u32 w)
{
	w = rotl32(w * 0xcc9e2d51, 15) * 0x1b873593;
	return rotl32(h ^ w, 13) * 5 + 0xe6546b64;
}

static __always_inline __u32 hash_sum(__u32 h)
{
	h = (h ^ h >> 16) * 0x85ebca6b;
	h = (h ^ h >> 13) * 0xc2b2ae35;
	return h ^ h >> 16;
}

/* look is one look at a frame: headers are read up to end, where its linear part ends, and size is
 * how long all of it is. Drivers put the headers into the linear part; veth fills a page with it. */
struct look {
	const __u8 *end;
	__u32 size;
	const struct port_config *cfg;
	const struct tag *tag; /* beside the frame, before all that are in it */
	struct class *c;
};

/* transport reads the ports at l4, of which the IP header says that size bytes follow. */
static __always_inline bool transport(struct look *k, const __u8 *l4, __u32 off, __u32 size,
				      __u8 proto, __u8 roce)
{
	if (proto == PROTO_UDP) {
		if (size < UDP_LEN || l4 + UDP_LEN > k->end)
			return false;
		__u32 len = get16(l4 + 4);
		if (len < UDP_LEN || len > size)
			return false;
		if (get16(l4 + 2) == PORT_ROCE)
			k->c->kind = roce;
	} else if (proto == PROTO_TCP) {
		if (size < MIN_TCP || l4 + MIN_TCP > k->end)
			return false;
	} else {
		return true;
	}
	k->c->l4off = off;
	k->c->hash = hash_word(k->c->hash, get32(l4));
	return true;
}

static __always_inline void trust_dscp(struct look *k, __u8 dscp)
{
	k->c->dscp = dscp;
	if (k->cfg->trust == TRUST_DSCP)
		k->c->tc = k->cfg->dscp[dscp & 63];
}

static __always_inline bool ipv4(struct look *k, const __u8 *ip, __u32 off)
{
	if (ip + IPV4_LEN > k->end)
		return false;
	__u32 header = (ip[0] & 0x0f) * 4, total = get16(ip + 2), have = k->size - off;
	if (ip[0] >> 4 != 4 || header < IPV4_LEN || total < header || total > have)
		return false;
	k->c->kind = KIND_IPV4;
	k->c->l3off = off;
	k->c->ecn = ip[1] & 3;
	trust_dscp(k, ip[1] >> 2);
	__u32 h = hash_word(0, get32(ip + 12));
	h = hash_word(h, get32(ip + 16));
	k->c->hash = hash_word(h, ip[9]);
	/* A fragment has the MF flag or an offset: no ports, so that all of them go one way. */
	bool ok = true;
	if ((get16(ip + 6) & 0x3fff) == 0)
		ok = transport(k, ip + header, off + header, total - header, ip[9], KIND_ROCE4);
	k->c->hash = hash_sum(k->c->hash);
	return ok;
}

static __always_inline bool ipv6(struct look *k, const __u8 *ip, __u32 off)
{
	if (ip + IPV6_LEN > k->end)
		return false;
	__u32 payload = get16(ip + 4), have = k->size - off - IPV6_LEN;
	if (ip[0] >> 4 != 6 || payload > have)
		return false;
	__u8 tclass = ip[0] << 4 | ip[1] >> 4;
	k->c->kind = KIND_IPV6;
	k->c->l3off = off;
	k->c->ecn = tclass & 3;
	trust_dscp(k, tclass >> 2);
	__u32 h = 0;
#pragma unroll
	for (int i = 8; i < IPV6_LEN; i += 4)
		h = hash_word(h, get32(ip + i));
	k->c->hash = hash_word(h, ip[6]);
	bool ok = transport(k, ip + IPV6_LEN, off + IPV6_LEN, payload, ip[6], KIND_ROCE6);
	k->c->hash = hash_sum(k->c->hash);
	return ok;
}

static __always_inline bool control(struct look *k, const __u8 *body)
{
	if (body + PAUSE_LEN > k->end)
		return false;
	switch (get16(body)) {
	case OP_PFC:
		k->c->kind = KIND_PFC;
		return body + PFC_LEN <= k->end;
	case OP_PAUSE:
		k->c->kind = KIND_PAUSE;
		return true;
	}
	k->c->kind = KIND_MAC_CONTROL;
	return true;
}

static __always_inline bool look_frame(struct look *k, const __u8 *eth)
{
	if (eth + ETH_LEN > k->end)
		return false;
	__u32 off = ETH_LEN;
	__u16 outer = get16(eth + 12), next = outer, tci = 0;
	bool tagged = k->tag->proto != 0;
	if (tagged) {
		outer = __builtin_bswap16(k->tag->proto);
		tci = k->tag->tci;
	} else if (outer == TYPE_VLAN || outer == TYPE_STAG) {
		if (eth + ETH_LEN + TAG_LEN > k->end)
			return false;
		tagged = true;
		tci = get16(eth + ETH_LEN);
		next = get16(eth + ETH_LEN + 2);
		off += TAG_LEN;
	}
	if (tagged) {
		if (k->cfg->trust == TRUST_PCP)
			k->c->tc = k->cfg->pcp[tci >> 13];
		if (outer == TYPE_STAG && next == TYPE_VLAN) {
			if (eth + off + TAG_LEN > k->end)
				return false;
			next = get16(eth + off + 2);
			off += TAG_LEN;
		}
	}
	if (next == TYPE_CNTAG) {
		if (eth + off + TAG_LEN > k->end)
			return false;
		next = get16(eth + off + 2);
		off += TAG_LEN;
	}
	k->c->kind = KIND_OTHER;
	switch (next) {
	case TYPE_IPV4:
		return ipv4(k, eth + off, off);
	case TYPE_IPV6:
		return ipv6(k, eth + off, off);
	case TYPE_CNM:
		k->c->kind = KIND_CNM;
		return true;
	case TYPE_MAC_CONTROL:
		return off == ETH_LEN && !tagged ? control(k, eth + ETH_LEN) : true;
	}
	return true;
}

/* held_tag is the tag beside the frame. */
static __always_inline struct tag held_tag(struct xdp_md *ctx)
{
	struct tag tag = {};
	if (bpf_xdp_metadata_rx_vlan_tag(ctx, &tag.proto, &tag.tci))
		tag.proto = 0;
	return tag;
}

/* classify looks at the frame of ctx; of a malformed one it tells nothing but that. */
static __always_inline struct class classify(struct xdp_md *ctx, const struct port_config *cfg,
					      const struct tag *tag)
{
	struct class c = {.tc = cfg->default_tc};
	struct look k = {
		.end = (const __u8 *)(unsigned long)ctx->data_end,
		.size = frame_len(ctx),
		.cfg = cfg,
		.tag = tag,
		.c = &c,
	};
	if (look_frame(&k, (const __u8 *)(unsigned long)ctx->data))
		return c;
	return (struct class){.kind = KIND_MALFORMED, .tc = cfg->default_tc};
}

/* count_pfc counts a PFC frame under each of its classes. */
static __always_inline void count_pfc(struct xdp_md *ctx, struct counters *n)
{
	const __u8 *pfc = (const __u8 *)(unsigned long)ctx->data + ETH_LEN;
	if (pfc + PFC_LEN > (const __u8 *)(unsigned long)ctx->data_end)
		return;
	n->pfc_frames++;
#pragma unroll
	for (int p = 0; p < CLASSES; p++) {
		if (!(pfc[3] & 1 << p))
			continue;
		if (get16(pfc + 4 + 2 * p))
			n->pfc_xoff[p]++;
		else
			n->pfc_xon[p]++;
	}
}

#endif
