/* The view of a frame: a number that stands for its front and its length (core/src/frame/view.rs computes the same).
 *
 * It is off unless `views` is set at load; that is a constant, so that the verifier removes the code. The front of a
 * frame whose view was not met lately goes into a ring, once; the view itself is written beside the frame's record.
 */
#ifndef KEISOKU_VIEW_H
#define KEISOKU_VIEW_H

#include "wire.h"

#define LONGEST_FRONT 255
#define MOST_PADDING 42
#define LENGTH_KEY 0x9E3779B97F4A7C15ULL
#define TAIL_KEYS 31

volatile const __u32 views = 0;

/* The same as `Head` in core/src/port/xdp/receive.rs; the bytes of the front follow. */
struct front {
	__u64 view;
	__u32 length;
	__u32 kept;
	__u8 bytes[LONGEST_FRONT + 1];
};
#define FRONT_HEAD __builtin_offsetof(struct front, bytes)

/* By the place of a record in the ring. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* enlarged at load */
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps");

/* The view that was met last in each place. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* enlarged at load */
	__type(key, __u32);
	__type(value, __u64);
} met SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* enlarged at load */
} fronts SEC(".maps");

/* A front is assembled here, because the ring takes one piece of memory. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct front);
} assembling SEC(".maps");

/* The key of half a word; a constant wherever it is used. */
static __always_inline __u32 half_key(__u64 number)
{
	__u64 value = (number + 1) * 0x9E3779B97F4A7C15ULL;

	value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9ULL;
	value = (value ^ (value >> 27)) * 0x94D049BB133111EBULL;
	return value ^ (value >> 31);
}

static __always_inline __u64 product(__u64 word, __u32 keys)
{
	__u32 low = (__u32)word + half_key(2 * keys);
	__u32 high = (__u32)(word >> 32) + half_key(2 * keys + 1);

	return (__u64)low * high;
}

/* Adds COUNT words with keys from FIRST on and moves on. */
#define VIEW_PIECE(COUNT, FIRST)                                           \
	if (words & (COUNT)) {                                             \
		if ((void *)(at + (COUNT)) > end)                          \
			return sum;                                        \
		_Pragma("unroll") for (int word = 0; word < (COUNT); word++) \
			sum += product(at[word], (FIRST) + word);          \
		at += (COUNT);                                             \
	}

/* Of a frame of `length` bytes by its first `covered` bytes. The verifier looks at a global function once, and not once
 * for each way that leads to it; such a function takes no pointers into the frame. */
__attribute__((noinline)) __u64 view_of(struct xdp_md *context, __u32 covered, __u32 length)
{
	void *data = (void *)(long)context->data;
	void *end = (void *)(long)context->data_end;
	__u64 sum = length * LENGTH_KEY;
	__u64 *at = data;
	__u32 words = covered / 8;

	if (covered > LONGEST_FRONT)
		return sum;

	VIEW_PIECE(16, 0)
	VIEW_PIECE(8, 16)
	VIEW_PIECE(4, 24)
	VIEW_PIECE(2, 28)
	VIEW_PIECE(1, 30)
	if ((covered & 7) && words) {
		__u64 offset = covered - 8;

		/* The compiler must not join the offset with the check of the bounds, because the verifier needs both. */
		asm volatile("" : "+r"(offset));
		if (offset > LONGEST_FRONT || data + offset + 8 > end)
			return sum;
		sum += product(*(__u64 *)(data + offset), TAIL_KEYS);
	}
	return sum;
}

/* The keys of a whole word: those of the piece in which VIEW_PIECE takes it. */
static __always_inline __u32 keys_of(__u32 word, __u32 words)
{
	__u32 first = 0;

	for (__u32 count = 16; count > 1; count /= 2) {
		if (words & count) {
			if (word < count)
				break;
			word -= count;
		}
		first += count;
	}
	return first + word;
}

/* What is to be added to a view so that it is that of a front without its free bits. */
static __attribute__((noinline)) __u64 freed(struct xdp_md *context, struct receiver *own, __u32 covered)
{
	void *data = (void *)(long)context->data;
	void *end = (void *)(long)context->data_end;
	__u64 more = 0, tail_bits = 0, offset = 0;
	__u32 words = covered / 8;

	if (covered > LONGEST_FRONT || !words)
		return 0;
	for (int number = 0; number < FREE_WORDS; number++) {
		if (number >= own->free_words)
			break;
		__u64 bits = own->free[number].bits;

		offset = own->free[number].at;
		if (covered & 7) {
			__s64 behind = (__s64)offset - (covered - 8);

			if (behind >= 0 && behind < 8)
				tail_bits |= bits << (8 * behind);
			else if (behind < 0 && behind > -8)
				tail_bits |= bits >> (-8 * behind);
		}
		if (offset / 8 >= words)
			continue;
		asm volatile("" : "+r"(offset));
		if (offset > LONGEST_FRONT || data + offset + 8 > end)
			continue;
		__u64 word = *(__u64 *)(data + offset);
		__u32 keys = keys_of(offset / 8, words);

		more += product(word & ~bits, keys) - product(word, keys);
	}
	if (tail_bits) {
		offset = covered - 8;
		asm volatile("" : "+r"(offset));
		if (offset > LONGEST_FRONT || data + offset + 8 > end)
			return more;
		__u64 word = *(__u64 *)(data + offset);

		more += product(word & ~tail_bits, TAIL_KEYS) - product(word, TAIL_KEYS);
	}
	return more;
}

/* Hands over the front of a frame whose view is new in its place. */
static __always_inline void meet(struct xdp_md *context, __u64 view, __u32 covered, __u32 length, __u32 places)
{
	__u32 place = view & (places - 1);
	__u64 *before = bpf_map_lookup_elem(&met, &place);
	__u32 zero = 0;

	if (!before || *before == view)
		return;
	struct front *front = bpf_map_lookup_elem(&assembling, &zero);
	if (!front)
		return;
	front->view = view;
	front->length = length;
	front->kept = covered;
	/* The compiler must not remove the check of the bounds, because the verifier needs it. */
	asm volatile("" : "+r"(covered));
	if (covered == 0 || covered > LONGEST_FRONT || bpf_xdp_load_bytes(context, 0, front->bytes, covered))
		return;
	/* Without room it is met again with the next such frame. */
	if (!bpf_ringbuf_output(&fronts, front, FRONT_HEAD + covered, BPF_RB_NO_WAKEUP))
		*before = view;
}

#endif
