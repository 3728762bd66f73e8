/* When each test frame passes the points of the kernel's way through a host: the last SLOTS frames with the times of
 * their first HOPS points.
 *
 * A program is attached to each event of the kernel that a packet passes. A frame has a slot by its stream and number,
 * which the next frame with this slot takes from it. core/src/hops.rs mirrors the structs below, and reads the slots of
 * the frames that it asks for once they have arrived. Nothing here changes a frame or a decision.
 */
#include "test_packet.h"

#define SLOT_BITS 16
#define SLOTS (1 << SLOT_BITS)
#define HOPS 16
#define INTERFACES 1024
/* 2^64 divided by the golden ratio: numbers that follow each other have slots far apart. */
#define GOLDEN 0x9E3779B97F4A7C15ULL
/* The packet belongs to the socket of a program that sent it. */
#define OF_SOCKET 128

enum point {
	BACKLOG = 1,  /* put into the queue of received packets of a CPU */
	POLLED = 2,   /* taken out of the ring of its interface */
	RECEIVED = 3, /* handed to the protocols and to the bridge */
	QUEUED = 4,   /* handed to the queue of an interface */
	STARTED = 5,  /* handed to the driver of an interface */
};

struct control {
	/* Written by user space before a trial. */
	__u64 watching;
	__u32 first_stream;
	__u32 streams;
	__u8 pad[112];
	/* Written by the programs: packets whose end could not be read. */
	__u64 unread;
	/* Interfaces for whose name there was no room. */
	__u64 unnamed;
};

struct hop {
	/* CLOCK_MONOTONIC << 16 | bits of the packet's address, by which a copy has others. */
	__u64 time_and_packet;
	__u32 namespace;
	/* Its number << 8 | OF_SOCKET | point. */
	__u32 interface_and_point;
};

struct slot {
	__u64 stream_and_sequence;
	/* Hops that it passed; the first HOPS of them are kept. */
	__u64 passed;
	struct hop hops[HOPS];
};

struct interface_key {
	__u32 namespace;
	__u32 interface;
};

struct interface {
	/* The function that takes what it receives, as that of a bridge. */
	__u64 handler;
	char name[16];
	char qdisc[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct control);
} control SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, INTERFACES);
	__type(key, struct interface_key);
	__type(value, struct interface);
} interfaces SEC(".maps");

/* Interfaces whose names are known, so that most hops need not look. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, INTERFACES);
	__type(key, __u32);
	__type(value, __u64);
} known SEC(".maps");

/* Keeps name, queue and handler of an interface. */
static __always_inline void describe(struct control *own, struct net_device *dev, __u64 address, struct interface_key *key)
{
	__u32 place = address >> 6 & (INTERFACES - 1);
	__u64 *seen = bpf_map_lookup_elem(&known, &place);
	struct interface made = {};
	struct Qdisc *qdisc;

	if (!seen || *seen == address)
		return;
	*seen = address;
	made.handler = (__u64)dev->rx_handler;
	bpf_probe_read_kernel_str(made.name, sizeof(made.name), dev->name);
	bpf_probe_read_kernel_str(made.qdisc, sizeof(made.qdisc), dev->qdisc->ops->id);
	/* An interface with several queues has one that only holds them. */
	if (made.qdisc[0] == 'm' && made.qdisc[1] == 'q') {
		qdisc = dev->_tx->qdisc;
		bpf_probe_read_kernel_str(made.qdisc, sizeof(made.qdisc), qdisc->ops->id);
	}
	if (bpf_map_update_elem(&interfaces, key, &made, BPF_ANY))
		__sync_fetch_and_add(&own->unnamed, 1);
}

/* At `packet_at` and `interface_at` are the addresses of both: the verifier lets a program count with what it reads as a
 * number. */
static __always_inline int pass(struct sk_buff *skb, struct net_device *dev, const void *packet_at, const void *interface_at,
				__u32 point)
{
	__u32 zero = 0;
	struct control *own = bpf_map_lookup_elem(&control, &zero);
	__u64 packet = 0, interface = 0;
	__u8 tail[TAIL];

	if (!own || !own->watching)
		return 0;
	__u64 now = bpf_ktime_get_ns();

	if (read_end(tail, skb)) {
		__sync_fetch_and_add(&own->unread, 1);
		return 0;
	}
	__u64 word = identity(own->first_stream, own->streams, tail);

	if (!word)
		return 0;
	__u32 place = word * GOLDEN >> (64 - SLOT_BITS);
	struct slot *slot = bpf_map_lookup_elem(&slots, &place);

	if (!slot)
		return 0;
	if (slot->stream_and_sequence != word) {
		slot->passed = 0;
		slot->stream_and_sequence = word;
	}
	__u64 index = __sync_fetch_and_add(&slot->passed, 1);

	if (index >= HOPS)
		return 0;
	struct hop *hop = &slot->hops[index & (HOPS - 1)];
	struct interface_key key = { .namespace = dev->nd_net.net->ns.inum, .interface = dev->ifindex };

	bpf_probe_read_kernel(&packet, sizeof(packet), packet_at);
	bpf_probe_read_kernel(&interface, sizeof(interface), interface_at);
	hop->namespace = key.namespace;
	hop->interface_and_point = key.interface << 8 | (skb->sk ? OF_SOCKET : 0) | point;
	hop->time_and_packet = now << 16 | (packet >> 8 & 0xFFFF);
	describe(own, dev, interface, &key);
	return 0;
}

SEC("tp_btf/netif_rx")
int backlog(__u64 *context)
{
	struct sk_buff *skb = (void *)context[0];

	return pass(skb, skb->dev, context, &skb->dev, BACKLOG);
}

SEC("tp_btf/napi_gro_receive_entry")
int polled(__u64 *context)
{
	struct sk_buff *skb = (void *)context[0];

	return pass(skb, skb->dev, context, &skb->dev, POLLED);
}

SEC("tp_btf/netif_receive_skb")
int received(__u64 *context)
{
	struct sk_buff *skb = (void *)context[0];

	return pass(skb, skb->dev, context, &skb->dev, RECEIVED);
}

SEC("tp_btf/net_dev_queue")
int queued(__u64 *context)
{
	struct sk_buff *skb = (void *)context[0];

	return pass(skb, skb->dev, context, &skb->dev, QUEUED);
}

SEC("tp_btf/net_dev_start_xmit")
int started(__u64 *context)
{
	struct sk_buff *skb = (void *)context[0];

	return pass(skb, (void *)context[1], context, context + 1, STARTED);
}

char LICENSE[] SEC("license") = "GPL";
