/* Stamps every test frame that reaches the port and hands it to the AF_XDP socket of its queue.
 *
 * The stamp lies in front of the frame, so that it is taken at the same point as that of receive.c however late the
 * socket is read. Checks are left to user space (core/src/port/expected.rs). All other frames are counted and go to
 * the stack of the host, but for intact frames of another trial, which it would answer.
 */
#include "capture.h"
#include "wire.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct redirector);
} redirector SEC(".maps");

/* The socket of each queue. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, QUEUES);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

SEC("xdp")
int redirect(struct xdp_md *context)
{
	__u64 received_ns = bpf_ktime_get_ns();
	void *data = (void *)(long)context->data;
	void *end = (void *)(long)context->data_end;
	__u32 zero = 0;
	struct redirector *own = bpf_map_lookup_elem(&redirector, &zero);
	int action = XDP_PASS, expected = 0;

	if (!own)
		return XDP_PASS;
	__u64 watching = *(volatile __u64 *)&own->watching;
	__u32 length = end - data;
	void *signature = find_magic(data, end, length - SIGNATURE_LENGTH);
	if (!signature)
		signature = find_magic(data, end, length - SIGNATURE_LENGTH - ROOM_LENGTH);
	if (signature && signature + SIGNATURE_LENGTH <= end) {
		__u64 word = bpf_be64_to_cpu(*(volatile __u64 *)(signature + 2));
		__u64 time = bpf_be64_to_cpu(*(volatile __u64 *)(signature + 10));
		__u32 index = ((__u32)(word >> 48) - own->first_stream) & 0xFFFF;

		if (watching && index < own->streams)
			expected = 1;
		else if (fold(MAGIC + sum_words(word) + sum_words(time)) == 0xFFFF)
			action = XDP_DROP;
	}
	capture(context, received_ns, context->ingress_ifindex, INCOMING);
	if (!expected) {
		if (watching)
			__sync_fetch_and_add(&own->foreign, 1);
		if (action == XDP_DROP)
			__sync_fetch_and_add(&own->taken, 1);
		return action;
	}
	/* Counted first: what does not reach user space from here on was dropped by the tester. */
	__sync_fetch_and_add(&own->expected, 1);
	if (bpf_xdp_adjust_head(context, -(int)STAMP_BYTES))
		return XDP_DROP;
	data = (void *)(long)context->data;
	end = (void *)(long)context->data_end;
	if (data + STAMP_BYTES > end)
		return XDP_DROP;
	*(volatile __u64 *)data = received_ns;
	return bpf_redirect_map(&sockets, context->rx_queue_index, XDP_DROP);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
