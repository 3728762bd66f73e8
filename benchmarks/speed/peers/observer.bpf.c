/* The neutral observer's program: stamps and swallows test frames at the far end, whoever sent them.
 *
 * A test frame is an IPv4/UDP frame of 60 bytes (64 with FCS). All others pass: iperf3 needs its control
 * connection. It never looks into a payload, so that it costs the same for every sender.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define TEST_FRAME_BYTES 60

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* resized before loading */
	__type(key, __u32);
	__type(value, __u64);
} stamps SEC(".maps");

__u64 seen;

SEC("xdp")
int observe(struct xdp_md *context)
{
	__u64 now_ns = bpf_ktime_get_ns();
	void *data = (void *)(long)context->data;
	void *end = (void *)(long)context->data_end;
	struct ethhdr *ethernet = data;
	struct iphdr *ip = data + sizeof(*ethernet);

	if (end - data != TEST_FRAME_BYTES || (void *)(ip + 1) > end || ethernet->h_proto != bpf_htons(ETH_P_IP) ||
	    ip->protocol != IPPROTO_UDP)
		return XDP_PASS;
	__u32 index = __sync_fetch_and_add(&seen, 1);
	__u64 *stamp = bpf_map_lookup_elem(&stamps, &index);

	if (stamp)
		*stamp = now_ns;
	return XDP_DROP;
}

/* For a sender whose cost alone is asked for: takes every frame away, and does nothing else. */
SEC("xdp")
int swallow(struct xdp_md *context)
{
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
