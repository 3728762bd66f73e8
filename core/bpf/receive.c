/* Stamps, checks and records every frame that reaches the port. It consumes test frames and passes on all others.
 *
 * The checks are those of core/src/port/expected.rs, in the same order. All CPUs write records into one ring, in the
 * order of arrival. A frame for which the ring has no room is counted.
 */
#include "capture.h"
#include "view.h"
#include "wire.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct receiver);
} receiver SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, RING_RECORDS);
	__type(key, __u32);
	__type(value, struct record);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, STREAMS);
	__type(key, __u32);
	__type(value, struct claim);
} claims SEC(".maps");

/* Frames that this program took out, since it was attached. Some drivers count them as dropped. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} taken SEC(".maps");

/* Where the next SIZE bytes begin, and moves on; only inside sum_region. The mask is for the verifier: behind a step that
 * may be left out it knows the same of the place on both ways, and follows one. */
#define NEXT(SIZE)                                                         \
	({                                                                 \
		void *at = data + from;                                    \
		if (at + (SIZE) > end)                                     \
			return 1;                                          \
		from = (from + (SIZE)) & OFFSET_MASK;                      \
		at;                                                        \
	})

/* Adds SIZE bytes to the sum. A call costs more than to add few words here. */
#define ADD_FEW(SIZE)                                                      \
	do {                                                               \
		__be32 *words = NEXT(SIZE);                                \
		for (int word = 0; word < (SIZE) / 4; word++)              \
			total += words[word];                              \
	} while (0)

/* The same by a call. */
#define ADD(SIZE) sum = (__u32)bpf_csum_diff(0, 0, NEXT(SIZE), (SIZE), sum)

/* Ones' complement sum of the frame from `from` on, to 16 bits: 0 or 0xFFFF if it balances. */
static __always_inline __u64 sum_region(void *data, void *end, __u32 from)
{
	__u32 length = end - data;
	__u32 left = length - from;
	__u64 total = 0;
	__u32 sum = 0;

	if (from >= length || from > OFFSET_MASK)
		return 1;
	for (int i = 0; i < 20 && left >= 512; i++) {
		ADD(512);
		left -= 512;
	}
	if (left & 256)
		ADD(256);
	if (left & 128)
		ADD(128);
	if (left & 64)
		ADD(64);
	if (left & 32)
		ADD_FEW(32);
	if (left & 16)
		ADD_FEW(16);
	if (left & 8)
		ADD_FEW(8);
	if (left & 4)
		ADD_FEW(4);
	total += sum;
	if (left & 2)
		total += *(__u16 *)NEXT(2);
	if (left & 1)
		total += bpf_ntohs((__u16)(*(__u8 *)NEXT(1) << 8));
	return fold(total);
}

static __always_inline void push(struct receiver *own, __u64 received_ns, __u64 word, __u64 time,
				 __u64 class, __u64 view)
{
	if (own->head - *(volatile __u64 *)&own->tail >= RING_RECORDS - RING_MARGIN) {
		__sync_fetch_and_add(&own->dropped, 1);
		return;
	}
	__u64 index = __sync_fetch_and_add(&own->head, 1);
	__u32 slot = index & (RING_RECORDS - 1);
	struct record *record = bpf_map_lookup_elem(&ring, &slot);

	if (!record)
		return;
	__u64 lap = (index / RING_RECORDS + 1) & 0xFFF;
	record->received_ns = received_ns;
	record->stream_and_sequence = word;
	if (views) {
		__u64 *place = bpf_map_lookup_elem(&seen, &slot);

		if (place)
			*place = view;
	}
	/* It is an exchange, because that is ordered after the stores above on every architecture. */
	(void)__sync_lock_test_and_set(&record->sent_lap_class, (time & ~0xFFFFULL) | lap << 4 | class);
}

/* Whether a frame from whose front `cut` bytes are missing has an expected length and balances. */
static __always_inline int is_whole(struct claim *claim, void *data, void *end, __u32 cut)
{
	__u32 length = end - data;
	__u32 from = claim->checked_from;

	if (length + cut < claim->least || length + cut > claim->most)
		return 0;
	from = from > cut ? from - cut : 0;
	__u64 sum = sum_region(data, end, from);
	return sum == 0 || sum == 0xFFFF;
}

/* Two words of a frame, the first one in the low half; zero if it is too short. */
static __always_inline __u64 words_of(void *data, void *end, __u64 first, __u64 second)
{
	/* The compiler must not join the offsets with the checks of the bounds, because the verifier needs both. */
	asm volatile("" : "+r"(first), "+r"(second));
	if (first > LONGEST_FRONT || second > LONGEST_FRONT || data + first + 4 > end || data + second + 4 > end)
		return 0;
	return (__u64) * (__u32 *)(data + second) << 32 | *(__u32 *)(data + first);
}

/* The same of the frame of a context. The verifier looks at a global function once. */
__attribute__((noinline)) __u64 sum_from(struct xdp_md *context, __u32 from)
{
	return sum_region((void *)(long)context->data, (void *)(long)context->data_end, from);
}

/* Where a signature begins behind which a device has padded the frame; OFFSET_MASK: there is none. */
__attribute__((noinline)) __u32 find_padded(struct xdp_md *context)
{
	void *data = (void *)(long)context->data;
	void *end = (void *)(long)context->data_end;
	__u64 first = end - data - SIGNATURE_LENGTH - MOST_PADDING;

	/* The bounds are checked once, or each turn would have several ways on. The compiler must not count from `end`. */
	asm volatile("" : "+r"(first));
	if (first > OFFSET_MASK)
		return OFFSET_MASK;
	__u8 *at = data + first;
	if ((void *)at + MOST_PADDING + SIGNATURE_LENGTH > end)
		return OFFSET_MASK;
	for (int place = MOST_PADDING - 1; place >= 0; place--)
		if (at[place] == MAGIC >> 8 && at[place + 1] == (MAGIC & 0xFF))
			return first + place;
	return OFFSET_MASK;
}

/* Whether the payload of a frame is as it was sent, although its headers may have `grown` or shrunk. */
static __always_inline int is_payload_whole(struct claim *claim, struct xdp_md *context, __s32 grown)
{
	__s32 from = claim->checked_from + grown;

	if (from < 0)
		return 0;
	__u64 sum = sum_from(context, from);
	return sum == 0 || sum == 0xFFFF;
}

SEC("xdp")
int receive(struct xdp_md *context)
{
	__u64 received_ns = bpf_ktime_get_ns();
	void *data = (void *)(long)context->data;
	void *end = (void *)(long)context->data_end;
	__u32 zero = 0;
	struct receiver *own = bpf_map_lookup_elem(&receiver, &zero);
	__u64 word = 0, time = 0, class = FOREIGN, view = 0;
	int action = XDP_PASS;

	if (!own)
		return XDP_PASS;
	__u32 length = end - data;
	void *signature = find_magic(data, end, length - SIGNATURE_LENGTH);
	if (!signature)
		signature = find_magic(data, end, length - SIGNATURE_LENGTH - ROOM_LENGTH);
	/* Zero in a trial that does not watch changes. */
	__u32 window = views ? own->window : 0, padded = 0;
	if (window && !signature) {
		signature = find_magic(data, end, find_padded(context));
		padded = 1;
	}
	if (signature) {
		if (signature + SIGNATURE_LENGTH <= end) {
			word = bpf_be64_to_cpu(*(volatile __u64 *)(signature + 2));
			time = bpf_be64_to_cpu(*(volatile __u64 *)(signature + 10));
			__u64 intact = fold(MAGIC + sum_words(word) + sum_words(time)) == 0xFFFF;
			__u32 index = ((__u32)(word >> 48) - own->first_stream) & 0xFFFF;
			struct claim *claim = 0;
			if (own->watching && index < own->streams)
				claim = bpf_map_lookup_elem(&claims, &index);
			if (window && claim && claim->most) {
				__u32 place = signature - data;
				__s32 grown = (__s32)(place + SIGNATURE_LENGTH + claim->room) - claim->most;
				__u32 covered = window + (grown > 0 ? grown : 0);

				if (covered > place)
					covered = place;
				if (covered > LONGEST_FRONT)
					covered = LONGEST_FRONT;
				if (intact || !padded) {
					class = CORRUPT;
					if (intact && is_payload_whole(claim, context, grown))
						class = INTACT;
					view = view_of(context, covered, length);
					if (own->free_words)
						view += freed(context, own, covered);
					meet(context, view, covered, length, MET_VIEWS);
					action = XDP_DROP;
				}
			} else if (claim && claim->most) {
				class = CORRUPT;
				if (intact && is_whole(claim, data, end, 0))
					class = INTACT;
				else if (intact && claim->cut && is_whole(claim, data, end, claim->cut))
					class = INTACT;
				action = XDP_DROP;
			} else if (intact) {
				/* A frame of another trial, which the stack of the host would answer. */
				action = XDP_DROP;
			}
		}
	}
	if (views && own->words[1])
		view = words_of(data, end, own->words[0], own->words[1]);
	if (own->watching)
		push(own, received_ns, word, time, class, view);
	capture(context, received_ns, context->ingress_ifindex, INCOMING);
	if (action == XDP_DROP) {
		__u64 *count = bpf_map_lookup_elem(&taken, &zero);

		if (count)
			*count += 1;
	}
	return action;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
