/* Where the kernel drops test frames: an entry for each, with its stream, its number, the time and the place.
 *
 * Frames are recognised by their signatures alone, wherever in a packet these lie, so what is foreign is never
 * counted. A program is attached to each event that may free a frame; user space leaves out those that this kernel
 * has not. core/src/drops.rs mirrors the structs below. Nothing here changes a frame or a decision.
 */
#include "test_packet.h"

#define PLACES 1024
#define DROPS (1 << 22)
#define MOST_RULES 1024
#define NAME 32
/* In place of these numbers user space writes that of the program that is watched, and whether the kernel says why it
 * frees packets (Linux 5.17). */
#define WATCHED_PROGRAM 0x6B730001
#define HAS_REASONS 0x6B730002

/* What is needed of the kernel's structures, at the places that the running kernel reports. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct xdp_rxq_info {
	struct net_device *dev;
};
struct xdp_buff {
	void *data_end;
	struct xdp_rxq_info *rxq;
	__u32 flags;
};
struct xdp_frame {
	void *data;
	__u32 len;
};
struct bpf_prog_aux {
	__u32 id;
};
struct bpf_prog {
	struct bpf_prog_aux *aux;
};
struct xdp_dev_bulk_queue {
	void *q[16];
	struct net_device *dev;
};
struct bpf_cpu_map_entry {
	__u32 cpu;
	int map_id;
};
struct xdp_bulk_queue {
	void *q[8];
	struct bpf_cpu_map_entry *obj;
};
struct nft_table {
	__u32 use;
	char *name;
};
struct nft_chain {
	struct nft_table *table;
	char *name;
};
struct nft_base_chain {
	__u8 policy;
	struct nft_chain chain;
};
struct nft_verdict {
	__u32 code;
};
struct nft_pktinfo {
	struct sk_buff *skb;
};
struct nft_traceinfo {
	const struct nft_base_chain *basechain;
};
struct nft_rule_dp_last {
	const struct nft_chain *chain;
};
#pragma clang attribute pop

/* XDP_FLAGS_HAS_FRAGS of the kernel. */
#define HAS_FRAGS 1

enum kind {
	FREED = 1,	  /* a packet was freed as lost */
	PROGRAM = 2,	  /* an XDP program dropped it: `reason` is its answer */
	NOT_REDIRECTED = 3, /* `reason` is the error */
	NOT_SENT = 4,	  /* the driver to which XDP redirected it had no room */
	NO_CPU_ROOM = 5,  /* `interface` is the CPU to which XDP redirected it */
};

struct control {
	/* Written by user space before a trial. */
	__u64 watching;
	__u32 first_stream;
	__u32 streams;
	__u8 pad[112];
	/* Written by the programs: test frames that were dropped so far; the first DROPS of them have entries. */
	__u64 dropped;
	/* Packets whose end could not be read. */
	__u64 unread;
	/* Test frames for whose place there was no room. */
	__u64 unplaced;
	__u32 places;
	__u32 pad1;
};

struct drop {
	__u64 stream_and_sequence;
	/* CLOCK_MONOTONIC << 16 | number of the place. */
	__u64 time_and_place;
};

struct place_key {
	/* The instruction that freed it. */
	__u64 location;
	/* The rule of nftables and its chain. */
	__u64 chain;
	__u64 rule;
	__u32 namespace;
	__u32 interface;
	__u32 reason;
	__u32 program;
	__u32 kind;
	__u32 pad;
};

struct place {
	__u64 frames;
	__u64 first_ns;
	__u64 last_ns;
	__u32 number;
	__u32 family;
	char interface[16];
	char qdisc[16];
	char table[NAME];
	char chain[NAME];
};

/* What earlier programs on this CPU found out of a packet that is about to be freed. */
struct found {
	/* nftables' verdict. */
	__u64 judged;
	__u64 chain;
	__u64 rule;
	__u32 family;
	/* The tc program that dropped it. */
	__u32 program;
	__u64 ended;
	/* The identity of a frame that an XDP program dropped, which some drivers free as a packet; zero: none. */
	__u64 counted;
	/* The tester's port that a frame reached last. */
	__u64 own_port;
	/* The queue of redirected frames that is being handed over. */
	__u64 bulk;
	struct place_key bulk_key;
	char bulk_name[16];
	char table[NAME];
	char chain_name[NAME];
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
	__uint(max_entries, DROPS);
	__type(key, __u32);
	__type(value, struct drop);
} drops SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PLACES);
	__type(key, struct place_key);
	__type(value, struct place);
} places SEC(".maps");

/* The tester's own ports, by namespace and interface. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u64);
	__type(value, __u32);
} own_ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct found);
} of_cpu SEC(".maps");

/* A number that user space writes into the program. */
#define WRITTEN(NUMBER)                                                    \
	({                                                                 \
		__u32 number;                                              \
		asm volatile("%0 = %1" : "=r"(number) : "i"(NUMBER));      \
		number;                                                    \
	})

static __always_inline struct control *watching(void)
{
	__u32 zero = 0;
	struct control *own = bpf_map_lookup_elem(&control, &zero);

	return own && own->watching ? own : 0;
}

static __always_inline struct found *found_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&of_cpu, &zero);
}

/* Whether a packet is an error of ICMP, which quotes the frame that it is about. */
static __always_inline int quotes(struct sk_buff *skb)
{
	__u8 header[8] = {};
	unsigned char *at = skb->head + skb->network_header;
	__u8 type = 0;

	if (bpf_probe_read_kernel(header, sizeof(header), at))
		return 0;
	if (skb->protocol == bpf_htons(0x0800)) {
		__u8 protocol = 0;

		bpf_probe_read_kernel(&protocol, 1, at + 9);
		if (protocol != 1)
			return 0;
		bpf_probe_read_kernel(&type, 1, at + (header[0] & 15) * 4);
		return (type >= 3 && type <= 5) || type == 11 || type == 12;
	}
	if (skb->protocol != bpf_htons(0x86DD) || header[6] != 58)
		return 0;
	bpf_probe_read_kernel(&type, 1, at + 40);
	return type < 128;
}

static __always_inline void at_interface(struct place_key *key, struct net_device *dev)
{
	key->namespace = dev->nd_net.net->ns.inum;
	key->interface = dev->ifindex;
}

static __always_inline int is_own(const struct place_key *key)
{
	__u64 port = (__u64)key->namespace << 32 | key->interface;

	return bpf_map_lookup_elem(&own_ports, &port) != 0;
}

/* Whether the tester itself received this packet: its programs take it out of the kernel's way, which frees it. It comes
 * first and remembers the port, because each frame that arrives in a packet passes here. What the tester sends has a
 * socket. */
static __always_inline int is_received(struct found *here, struct sk_buff *skb)
{
	struct net_device *dev = skb->dev;
	struct place_key key = {};

	if (skb->sk)
		return 0;
	if (here->own_port == (__u64)dev)
		return 1;
	at_interface(&key, dev);
	if (!is_own(&key))
		return 0;
	here->own_port = (__u64)dev;
	return 1;
}

/* Keeps an entry, with a place that is new if it is. */
static __always_inline void keep(struct control *own, __u64 word, struct place_key *key, struct place *made)
{
	__u64 now = bpf_ktime_get_ns();
	struct place *place = bpf_map_lookup_elem(&places, key);

	if (!place) {
		made->first_ns = now;
		made->number = __sync_fetch_and_add(&own->places, 1);
		bpf_map_update_elem(&places, key, made, BPF_NOEXIST);
		place = bpf_map_lookup_elem(&places, key);
		if (!place) {
			__sync_fetch_and_add(&own->unplaced, 1);
			return;
		}
	}
	__sync_fetch_and_add(&place->frames, 1);
	place->last_ns = now;
	__u64 index = __sync_fetch_and_add(&own->dropped, 1);

	if (index >= DROPS)
		return;
	__u32 slot = index;
	struct drop *drop = bpf_map_lookup_elem(&drops, &slot);

	if (!drop)
		return;
	drop->stream_and_sequence = word;
	drop->time_and_place = now << 16 | (place->number & 0xFFFF);
}

SEC("tp_btf/kfree_skb")
int freed(__u64 *context)
{
	struct sk_buff *skb = (void *)context[0];
	struct control *own = watching();
	struct found *here;
	__u8 tail[TAIL];

	if (!own || !(here = found_here()) || is_received(here, skb))
		return 0;
	if (read_end(tail, skb)) {
		__sync_fetch_and_add(&own->unread, 1);
		return 0;
	}
	__u64 word = identity(own->first_stream, own->streams, tail);

	if (!word || quotes(skb))
		return 0;
	if (here->counted == word) {
		here->counted = 0;
		return 0;
	}
	struct place_key key = { .location = context[1], .kind = FREED };
	struct place made = {};

	at_interface(&key, skb->dev);
	if (WRITTEN(HAS_REASONS))
		key.reason = context[2];
	bpf_probe_read_kernel_str(made.interface, sizeof(made.interface), skb->dev->name);
	bpf_probe_read_kernel_str(made.qdisc, sizeof(made.qdisc), skb->dev->qdisc->ops->id);
	if (here->judged == (__u64)skb) {
		here->judged = 0;
		key.chain = here->chain;
		key.rule = here->rule;
		made.family = here->family;
		__builtin_memcpy(made.table, here->table, NAME);
		__builtin_memcpy(made.chain, here->chain_name, NAME);
	}
	if (here->ended == (__u64)skb) {
		here->ended = 0;
		key.program = here->program;
	}
	keep(own, word, &key, &made);
	return 0;
}

/* nftables reports the outcome of each rule where anybody traces anything. */
SEC("fentry/__nft_trace_packet")
int BPF_PROG(judged, const struct nft_pktinfo *packet, const struct nft_verdict *verdict, const void *rule,
	     struct nft_traceinfo *info)
{
	const struct nft_chain *chain = 0;
	struct found *here;
	__u64 head = 0, at = 0;

	/* As a number, with which the verifier lets a program count. */
	bpf_probe_read_kernel(&at, sizeof(at), ctx + 2);
	if (at ? (verdict->code & 0xFF) != 0 : info->basechain->policy != 0)
		return 0;
	if (!watching() || !(here = found_here()))
		return 0;
	here->rule = 0;
	if (at) {
		for (int step = 0; step < MOST_RULES; step++) {
			if (bpf_probe_read_kernel(&head, sizeof(head), (void *)at))
				return 0;
			if (step == 0)
				here->rule = head >> 13 & ((1ULL << 42) - 1);
			if (head & 1)
				break;
			at += 8 + (head >> 1 & 0xFFF);
		}
		const struct nft_rule_dp_last *last = (void *)at;

		if (!(head & 1) || bpf_probe_read_kernel(&chain, sizeof(chain), &last->chain))
			return 0;
	} else {
		chain = &info->basechain->chain;
	}
	struct nft_table *table = 0;
	char *name = 0;
	__u16 family = 0;

	bpf_probe_read_kernel(&table, sizeof(table), &chain->table);
	bpf_probe_read_kernel(&name, sizeof(name), &chain->name);
	bpf_probe_read_kernel_str(here->chain_name, NAME, name);
	name = 0;
	bpf_probe_read_kernel(&name, sizeof(name), &table->name);
	bpf_probe_read_kernel_str(here->table, NAME, name);
	/* A field of 6 bits behind `use`. */
	bpf_probe_read_kernel(&family, sizeof(family), (void *)&table->use + 4);
	here->family = family & 0x3F;
	here->chain = (__u64)chain;
	here->judged = (__u64)packet->skb;
	return 0;
}

/* At the end of a tc program of the device; TC_ACT_SHOT is 2. */
SEC("fexit")
int BPF_PROG(ended_tc, struct sk_buff *skb, int answer)
{
	struct found *here;

	if (answer != 2 || !watching() || !(here = found_here()))
		return 0;
	here->ended = (__u64)skb;
	here->program = WRITTEN(WATCHED_PROGRAM);
	return 0;
}

/* A frame of XDP that is given up at the place `key`. */
static __always_inline void keep_frame(struct control *own, struct found *here, void *end, struct place_key *key,
				       const char *name)
{
	__u64 word;
	__u8 tail[TAIL];
	struct place made = {};

	if (bpf_probe_read_kernel(tail, TAIL, end - TAIL)) {
		__sync_fetch_and_add(&own->unread, 1);
		return;
	}
	word = identity(own->first_stream, own->streams, tail);
	if (!word)
		return;
	if (here->counted == word) {
		here->counted = 0;
		return;
	}
	bpf_probe_read_kernel_str(made.interface, sizeof(made.interface), name);
	keep(own, word, key, &made);
	here->counted = word;
}

static __always_inline void given_up(struct xdp_buff *frame, __u32 kind, __u32 reason, __u32 program)
{
	struct control *own = watching();
	struct found *here = found_here();
	struct place_key key = { .kind = kind, .reason = reason, .program = program };
	struct net_device *dev = frame->rxq->dev;

	if (!own || !here)
		return;
	if (frame->flags & HAS_FRAGS) {
		__sync_fetch_and_add(&own->unread, 1);
		return;
	}
	at_interface(&key, dev);
	keep_frame(own, here, frame->data_end, &key, dev->name);
}

/* At the end of an XDP program of the device; other answers than those to pass, send and redirect drop the frame. */
SEC("fexit")
int BPF_PROG(ended_xdp, struct xdp_buff *frame, int answer)
{
	if (answer < XDP_PASS || answer > XDP_REDIRECT)
		given_up(frame, PROGRAM, answer, WRITTEN(WATCHED_PROGRAM));
	return 0;
}

SEC("fexit/xdp_do_redirect")
int BPF_PROG(not_redirected, struct net_device *dev, struct xdp_buff *frame, struct bpf_prog *program, int error)
{
	if (error)
		given_up(frame, NOT_REDIRECTED, -error, program->aux->id);
	return 0;
}

/* What is freed while a queue of redirected frames is handed over had no room. */
SEC("fentry/bq_xmit_all")
int BPF_PROG(to_driver, struct xdp_dev_bulk_queue *queue)
{
	struct found *here;

	if (!watching() || !(here = found_here()))
		return 0;
	here->bulk_key = (struct place_key){ .kind = NOT_SENT };
	at_interface(&here->bulk_key, queue->dev);
	bpf_probe_read_kernel_str(here->bulk_name, sizeof(here->bulk_name), queue->dev->name);
	here->bulk = (__u64)&queue->q;
	return 0;
}

SEC("fexit/bq_xmit_all")
int BPF_PROG(after_driver, struct xdp_dev_bulk_queue *queue)
{
	struct found *here = found_here();

	if (here)
		here->bulk = 0;
	return 0;
}

SEC("fentry/bq_flush_to_queue")
int BPF_PROG(to_cpu, struct xdp_bulk_queue *queue)
{
	struct found *here;

	if (!watching() || !(here = found_here()))
		return 0;
	here->bulk_key = (struct place_key){ .kind = NO_CPU_ROOM };
	here->bulk_key.interface = queue->obj->cpu;
	here->bulk_name[0] = 0;
	here->bulk = (__u64)&queue->q;
	return 0;
}

SEC("fexit/bq_flush_to_queue")
int BPF_PROG(after_cpu, struct xdp_bulk_queue *queue)
{
	struct found *here = found_here();

	if (here)
		here->bulk = 0;
	return 0;
}

static __always_inline int returned(struct xdp_frame *frame)
{
	struct found *here = found_here();
	struct control *own;
	__u64 queue[16] = {};
	__u32 most = 16;

	if (!here || !here->bulk || !(own = watching()))
		return 0;
	if (here->bulk_key.kind == NO_CPU_ROOM)
		most = 8;
	/* A driver may free here what it has sent before. */
	if (bpf_probe_read_kernel(queue, sizeof(queue), (void *)here->bulk))
		return 0;
	for (int place = 0; place < 16; place++)
		if (place < most && queue[place] == (__u64)frame) {
			struct place_key key = here->bulk_key;

			keep_frame(own, here, frame->data + frame->len, &key, here->bulk_name);
			return 0;
		}
	return 0;
}

SEC("fentry/xdp_return_frame")
int BPF_PROG(returned_frame, struct xdp_frame *frame)
{
	return returned(frame);
}

SEC("fentry/xdp_return_frame_rx_napi")
int BPF_PROG(returned_frame_rx, struct xdp_frame *frame)
{
	return returned(frame);
}

char LICENSE[] SEC("license") = "GPL";
