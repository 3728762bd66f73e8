/* Counts what passes between one port of a switch and the client behind it: TCP connections by their headers, and
 * bytes.
 *
 * Two programs run at the port, one for frames from the client and one for frames to it. They let every frame pass
 * unchanged and decide nothing. core/src/system/flow_watch.rs mirrors `totals`; the buckets are those of
 * core/src/latency/histogram.rs.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define IPV4 0x0800
#define TCP 6
#define SUB_BITS 7
#define BUCKETS (41 << SUB_BITS)
#define FIN 1
#define SYN 2
#define RST 4
#define ACK 16

struct flow_key {
	__u32 client;
	__u32 server;
	__u16 client_port;
	__u16 server_port;
};

struct flow {
	__u64 first_ns;
	/* When a request was seen that has no answer yet; 0: none. */
	__u64 asked_ns;
	/* Time of the last SYN. */
	__u64 last_ns;
	__u32 sequence;
	__u8 answered;
	__u8 reopened;
	__u8 unused[2];
};

struct totals {
	__u64 opened;
	__u64 reopened;
	__u64 completed;
	__u64 broken;
	__u64 answers;
	__u64 answering_ns;
	/* Connections that are open now, the sum of the times at which they began, and the sum of the ages of closed ones. */
	__u64 open;
	__u64 open_since_ns;
	__u64 closed_ns;
	__u64 untracked;
	__u64 to_frames;
	__u64 to_bytes;
	__u64 from_frames;
	__u64 from_bytes;
};

struct durations {
	__u64 counts[BUCKETS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 262144);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct flow_key);
	__type(value, struct flow);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct totals);
} totals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct durations);
} durations SEC(".maps");

struct segment {
	__u32 from;
	__u32 to;
	__u16 from_port;
	__u16 to_port;
	__u32 sequence;
	__u32 payload;
	__u8 flags;
};

#define ADD(counter, amount) __sync_fetch_and_add(&(counter), amount)

/* The bucket that `log_linear::index` computes. */
static __always_inline __u32 bucket(__u64 value)
{
	__u64 top = value | 1 << SUB_BITS;
	__u32 most = 0;
#pragma unroll
	for (int step = 32; step; step >>= 1)
		if (top >> (most + step))
			most += step;
	__u32 octave = most - SUB_BITS;
	__u32 index = (octave << SUB_BITS) + (value >> octave);
	return index < BUCKETS ? index : BUCKETS - 1;
}

static __always_inline int read_segment(struct __sk_buff *skb, struct segment *found)
{
	__u8 ip[20], tcp[16];
	if (skb->protocol != bpf_htons(IPV4) || bpf_skb_load_bytes(skb, 14, ip, sizeof(ip)))
		return 0;
	/* Later fragments have no TCP header. */
	if (ip[9] != TCP || (ip[6] & 0x1F) || ip[7])
		return 0;
	__u32 ip_bytes = (ip[0] & 15) * 4;
	if (bpf_skb_load_bytes(skb, 14 + ip_bytes, tcp, sizeof(tcp)))
		return 0;
	__u32 header_bytes = 14 + ip_bytes + (tcp[12] >> 4) * 4;
	/* Short frames are padded, so the IP length counts; it may be 0 for a merged frame. */
	__u32 length = ip[2] << 8 | ip[3];
	__u32 end = length ? 14 + length : skb->len;
	__builtin_memcpy(&found->from, ip + 12, 4);
	__builtin_memcpy(&found->to, ip + 16, 4);
	__builtin_memcpy(&found->from_port, tcp, 2);
	__builtin_memcpy(&found->to_port, tcp + 2, 2);
	__builtin_memcpy(&found->sequence, tcp + 4, 4);
	found->flags = tcp[13];
	found->payload = end > header_bytes ? end - header_bytes : 0;
	return 1;
}

static __always_inline void end_flow(struct totals *all, struct flow_key *key, struct flow *flow, __u64 now)
{
	__u64 first = flow->first_ns;
	__u8 answered = flow->answered;
	/* Only one CPU succeeds in removing the entry. */
	if (bpf_map_delete_elem(&flows, key))
		return;
	ADD(all->open, -1);
	ADD(all->open_since_ns, -first);
	ADD(all->closed_ns, now - first);
	if (!answered) {
		ADD(all->broken, 1);
		return;
	}
	ADD(all->completed, 1);
	__u32 zero = 0;
	struct durations *seen = bpf_map_lookup_elem(&durations, &zero);
	__u32 place = bucket(now - first);
	if (seen && place < BUCKETS)
		ADD(seen->counts[place], 1);
}

static __always_inline void open_flow(struct totals *all, struct flow_key *key, struct segment *segment, __u64 now)
{
	struct flow *flow = bpf_map_lookup_elem(&flows, key);
	if (flow && flow->sequence == segment->sequence) {
		ADD(all->reopened, 1);
		flow->reopened = 1;
		flow->last_ns = now;
		return;
	}
	/* The ports are used again: the end of the previous connection was not seen. */
	if (flow)
		end_flow(all, key, flow, now);
	struct flow fresh = { .first_ns = now, .last_ns = now, .sequence = segment->sequence };
	ADD(all->opened, 1);
	if (bpf_map_update_elem(&flows, key, &fresh, BPF_NOEXIST)) {
		ADD(all->untracked, 1);
		return;
	}
	ADD(all->open, 1);
	ADD(all->open_since_ns, now);
}

SEC("classifier")
int from_client(struct __sk_buff *skb)
{
	struct segment segment = {};
	__u32 zero = 0;
	struct totals *all = bpf_map_lookup_elem(&totals, &zero);
	if (!all)
		return TC_ACT_UNSPEC;
	ADD(all->from_frames, 1);
	ADD(all->from_bytes, skb->len);
	if (!read_segment(skb, &segment))
		return TC_ACT_UNSPEC;
	struct flow_key key = {
		.client = segment.from,
		.server = segment.to,
		.client_port = segment.from_port,
		.server_port = segment.to_port,
	};
	__u64 now = bpf_ktime_get_ns();
	if ((segment.flags & (SYN | ACK)) == SYN) {
		open_flow(all, &key, &segment, now);
		return TC_ACT_UNSPEC;
	}
	if (!segment.payload && !(segment.flags & (FIN | RST)))
		return TC_ACT_UNSPEC;
	struct flow *flow = bpf_map_lookup_elem(&flows, &key);
	if (!flow)
		return TC_ACT_UNSPEC;
	/* A client that repeated its SYN has waited since the first SYN. */
	if (segment.payload && !flow->asked_ns)
		flow->asked_ns = flow->reopened && !flow->answered ? flow->first_ns : now;
	if (segment.flags & (FIN | RST))
		end_flow(all, &key, flow, now);
	return TC_ACT_UNSPEC;
}

SEC("classifier")
int to_client(struct __sk_buff *skb)
{
	struct segment segment = {};
	__u32 zero = 0;
	struct totals *all = bpf_map_lookup_elem(&totals, &zero);
	if (!all)
		return TC_ACT_UNSPEC;
	ADD(all->to_frames, 1);
	ADD(all->to_bytes, skb->len);
	if (!read_segment(skb, &segment) || (!segment.payload && !(segment.flags & RST)))
		return TC_ACT_UNSPEC;
	struct flow_key key = {
		.client = segment.to,
		.server = segment.from,
		.client_port = segment.to_port,
		.server_port = segment.from_port,
	};
	struct flow *flow = bpf_map_lookup_elem(&flows, &key);
	if (!flow)
		return TC_ACT_UNSPEC;
	__u64 now = bpf_ktime_get_ns();
	if (segment.payload && flow->asked_ns) {
		ADD(all->answers, 1);
		ADD(all->answering_ns, now - flow->asked_ns);
		flow->asked_ns = 0;
		flow->answered = 1;
	}
	if (segment.flags & RST)
		end_flow(all, &key, flow, now);
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "GPL";
