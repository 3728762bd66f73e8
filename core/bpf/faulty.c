/* The `faulty` device: a two-port wire that drops, duplicates, swaps, corrupts and rewrites known frames.
 *
 * From a given time to another it can also drop every frame of some streams.
 *
 * It runs at tc ingress of both ports and sends every frame out of the other port. It must never change a frame
 * without a signature and must decide by (stream, sequence) only: its counts in `applied` are the truth that the
 * tester is compared with. core/src/lab/faulty.rs mirrors the structs below.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define SIGNATURE_LENGTH 18
#define SIGNATURE_MAGIC 0x6B73
#define MASK_48 ((1ULL << 48) - 1)
#define ANY_STREAM 0xFFFFFFFFFFFFFFFFULL
#define UNSIGNED_STREAM 0xFFFFFFFFFFFFFFFEULL

enum action { FORWARD = 0, DROP = 1, DUPLICATE = 2, SWAP = 3, CORRUPT = 4, REWRITE = 5 };
/* The most bytes that one rewriting writes. */
#define PATCHES 64

struct fault_key {
	__u64 stream;
	__u64 sequence;
};

struct fault {
	__u32 action;
	/* CORRUPT: 1 is the last byte of the frame without FCS. */
	__u32 byte_from_end;
	__u32 flip;
	/* REWRITE: bytes that are added in front, and those that are then written: place << 8 | byte. */
	__u32 grow;
	__u32 patches;
	__u32 patch[PATCHES];
};

/* Of a stream, one frame in `every` is rewritten, beginning with this one. */
struct rule {
	__u64 first;
	__u64 every;
	struct fault fault;
	__u32 unused; /* no padding */
};

/* Every frame of these streams is dropped from one time to another (CLOCK_MONOTONIC). */
struct outage {
	__u64 first_stream;
	__u64 last_stream;
	__u64 from_ns;
	/* 0: there is none here, and none behind it. */
	__u64 to_ns;
};

#define OUTAGES 64

struct applied {
	__u64 seen;
	__u64 dropped;
	__u64 duplicated;
	__u64 swapped;
	__u64 corrupted;
	__u64 rewritten;
	/* Frames held back for a swap whose successor has not arrived. */
	__u64 held;
	/* Intended faults that the kernel refused. */
	__u64 failed;
};

struct held {
	__u8 signature[SIGNATURE_LENGTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct fault_key);
	__type(value, struct fault);
} faults SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct applied);
} applied SEC(".maps");

/* The signature of the frame to swap, by stream, until the next frame of the stream arrives. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct held);
} held SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, OUTAGES);
	__type(key, __u32);
	__type(value, struct outage);
} outages SEC(".maps");

volatile const __u32 port_a = 0;
volatile const __u32 port_b = 0;

static __always_inline struct applied *applied_to(__u64 stream)
{
	struct applied *counts = bpf_map_lookup_elem(&applied, &stream);
	if (counts)
		return counts;
	struct applied none = {};
	bpf_map_update_elem(&applied, &stream, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&applied, &stream);
}

static __always_inline struct fault *fault_of(__u64 stream, __u64 sequence)
{
	struct fault_key key = { .stream = stream, .sequence = sequence };
	struct fault *fault = bpf_map_lookup_elem(&faults, &key);
	if (fault)
		return fault;
	key.stream = ANY_STREAM;
	fault = bpf_map_lookup_elem(&faults, &key);
	if (fault)
		return fault;
	struct rule *rule = bpf_map_lookup_elem(&rules, &stream);
	if (rule && rule->every && sequence >= rule->first && (sequence - rule->first) % rule->every == 0)
		return &rule->fault;
	return 0;
}

static __always_inline int is_out(__u64 stream)
{
	__u64 now_ns = 0;
	for (__u32 place = 0; place < OUTAGES; place++) {
		__u32 key = place;
		struct outage *outage = bpf_map_lookup_elem(&outages, &key);
		if (!outage || !outage->to_ns)
			return 0;
		if (stream < outage->first_stream || stream > outage->last_stream)
			continue;
		if (!now_ns)
			now_ns = bpf_ktime_get_ns();
		if (now_ns >= outage->from_ns && now_ns < outage->to_ns)
			return 1;
	}
	return 0;
}

static __always_inline void corrupt(struct __sk_buff *skb, const struct fault *fault, struct applied *counts)
{
	__u8 byte;
	__u32 offset = skb->len - fault->byte_from_end;
	if (fault->byte_from_end > skb->len || bpf_skb_load_bytes(skb, offset, &byte, 1)) {
		__sync_fetch_and_add(&counts->failed, 1);
		return;
	}
	byte ^= (__u8)fault->flip;
	if (bpf_skb_store_bytes(skb, offset, &byte, 1, 0))
		__sync_fetch_and_add(&counts->failed, 1);
	else
		__sync_fetch_and_add(&counts->corrupted, 1);
}

static __always_inline void rewrite(struct __sk_buff *skb, const struct fault *fault, struct applied *counts)
{
	if (fault->grow && bpf_skb_change_head(skb, fault->grow, 0)) {
		__sync_fetch_and_add(&counts->failed, 1);
		return;
	}
	for (__u32 number = 0; number < PATCHES; number++) {
		if (number >= fault->patches)
			break;
		__u8 byte = (__u8)fault->patch[number];

		if (bpf_skb_store_bytes(skb, fault->patch[number] >> 8, &byte, 1, 0)) {
			__sync_fetch_and_add(&counts->failed, 1);
			return;
		}
	}
	__sync_fetch_and_add(&counts->rewritten, 1);
}

SEC("classifier")
int faulty(struct __sk_buff *skb)
{
	__u32 out = skb->ifindex == port_a ? port_b : port_a;
	struct {
		__u8 pad[6]; /* aligns the two 64-bit words */
		__u8 bytes[SIGNATURE_LENGTH];
	} place __attribute__((aligned(8))) = {};
	struct applied *counts;

	if (skb->len < SIGNATURE_LENGTH ||
	    bpf_skb_load_bytes(skb, skb->len - SIGNATURE_LENGTH, place.bytes, SIGNATURE_LENGTH) ||
	    place.bytes[0] != SIGNATURE_MAGIC >> 8 || place.bytes[1] != (SIGNATURE_MAGIC & 0xFF)) {
		counts = applied_to(UNSIGNED_STREAM);
		if (counts)
			__sync_fetch_and_add(&counts->seen, 1);
		return bpf_redirect(out, 0);
	}

	__u64 word = bpf_be64_to_cpu(*(__u64 *)(place.bytes + 2));
	__u64 stream = word >> 48;
	counts = applied_to(stream);
	if (!counts)
		return TC_ACT_SHOT;
	__sync_fetch_and_add(&counts->seen, 1);

	if (is_out(stream)) {
		__sync_fetch_and_add(&counts->dropped, 1);
		return TC_ACT_SHOT;
	}

	struct held *earlier = bpf_map_lookup_elem(&held, &stream);
	if (earlier) {
		/* All other bytes of a stream's frames are equal: this frame, then the same with the
		 * earlier signature, is what a swap looks like on the wire. */
		__u8 signature[SIGNATURE_LENGTH];
		__builtin_memcpy(signature, earlier->signature, SIGNATURE_LENGTH);
		bpf_map_delete_elem(&held, &stream);
		__sync_fetch_and_add(&counts->held, -1);
		if (bpf_clone_redirect(skb, out, 0) ||
		    bpf_skb_store_bytes(skb, skb->len - SIGNATURE_LENGTH, signature, SIGNATURE_LENGTH, 0)) {
			__sync_fetch_and_add(&counts->failed, 1);
			return TC_ACT_SHOT;
		}
		__sync_fetch_and_add(&counts->swapped, 1);
		return bpf_redirect(out, 0);
	}

	struct fault *fault = fault_of(stream, word & MASK_48);
	if (!fault)
		return bpf_redirect(out, 0);
	switch (fault->action) {
	case DROP:
		__sync_fetch_and_add(&counts->dropped, 1);
		return TC_ACT_SHOT;
	case DUPLICATE:
		if (bpf_clone_redirect(skb, out, 0))
			__sync_fetch_and_add(&counts->failed, 1);
		else
			__sync_fetch_and_add(&counts->duplicated, 1);
		break;
	case SWAP: {
		struct held own;
		__builtin_memcpy(own.signature, place.bytes, SIGNATURE_LENGTH);
		if (bpf_map_update_elem(&held, &stream, &own, BPF_ANY)) {
			__sync_fetch_and_add(&counts->failed, 1);
			break;
		}
		__sync_fetch_and_add(&counts->held, 1);
		return TC_ACT_SHOT;
	}
	case CORRUPT:
		corrupt(skb, fault, counts);
		break;
	case REWRITE:
		rewrite(skb, fault, counts);
		break;
	}
	return bpf_redirect(out, 0);
}

char LICENSE[] SEC("license") = "GPL";
