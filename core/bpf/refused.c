/* Counts the frames that a driver had no room for when they were redirected to it.
 *
 * Most drivers free such frames without counting them. The kernel reports every handover to a driver by a tracepoint;
 * user space puts the interfaces that it wants to know of into the map.
 */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* What is needed of the kernel's structures, at the places that the running kernel reports. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct ns_common {
	unsigned int inum;
};
struct net {
	struct ns_common ns;
};
typedef struct {
	struct net *net;
} possible_net_t;
struct net_device {
	int ifindex;
	possible_net_t nd_net;
};
#pragma clang attribute pop

/* An interface has a number of its own only within its namespace. */
struct place {
	__u32 namespace;
	__u32 interface;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct place);
	__type(value, __u64);
} refused SEC(".maps");

SEC("tp_btf/xdp_devmap_xmit")
int BPF_PROG(count_refused, const struct net_device *from, const struct net_device *to, int sent, int drops, int error)
{
	if (drops <= 0)
		return 0;
	struct place place = { .namespace = to->nd_net.net->ns.inum, .interface = to->ifindex };
	__u64 *count = bpf_map_lookup_elem(&refused, &place);

	if (count)
		__sync_fetch_and_add(count, drops);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
