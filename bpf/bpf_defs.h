/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The part of the kernel's BPF interface that the programs use, written out, so that generating
 * them needs clang and nothing else. Numbers and layouts: linux/bpf.h, kernel 5.15. */
#ifndef ROCELAB_BPF_DEFS_H
#define ROCELAB_BPF_DEFS_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef _Bool bool;
#define true 1
#define false 0

#define __ksym __attribute__((section(".ksyms")))
#define SEC(name) __attribute__((section(name), used))
#define __always_inline inline __attribute__((always_inline))

/* Map definitions in BTF: a pointer's array length or type is the value. */
#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name

enum {
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_XSKMAP = 17,
};

enum { BPF_F_MMAPABLE = 1 << 10 }; /* kernel 5.5 */

enum xdp_action { XDP_ABORTED, XDP_DROP, XDP_PASS, XDP_TX, XDP_REDIRECT };

struct xdp_md {
	__u32 data;
	__u32 data_end;
	__u32 data_meta;
	__u32 ingress_ifindex;
	__u32 rx_queue_index;
	__u32 egress_ifindex;
};

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static __u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static long (*bpf_redirect_map)(void *map, __u32 key, __u64 flags) = (void *)51;
static long (*bpf_xdp_adjust_head)(struct xdp_md *ctx, int delta) = (void *)44;
static long (*bpf_xdp_adjust_meta)(struct xdp_md *ctx, int delta) = (void *)54;
static __u64 (*bpf_xdp_get_buff_len)(struct xdp_md *ctx) = (void *)188; /* kernel 5.18 */

/* The VLAN tag that the sender left to the device (kernel 6.8): protocol in network byte order, and
 * tag control information. Documentation/networking/xdp-rx-metadata.rst. */
extern int bpf_xdp_metadata_rx_vlan_tag(const struct xdp_md *ctx, __u16 *proto, __u16 *tci) __ksym;

#endif
