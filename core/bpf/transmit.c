/* Sends one frame in each run: waits until it is due, stamps it and hands it to the port.
 *
 * It runs under BPF_PROG_TEST_RUN with live frames, on one CPU at a time, so that plain stores to the maps are
 * enough. User space writes the departures of all streams in order. This program skips none but those of a port
 * without a link, as user space says, and never sends before the due time.
 *
 * The whole frame is written each time, because the kernel recycles the pages and a device under test that changes a
 * frame (a router its TTL, a faulty device its payload) changes the page.
 */
#include "capture.h"
#include "wire.h"

/* Longest wait inside one run, which delays soft interrupts of this CPU. */
#define WAIT_NS 400000
#define WAIT_ROUNDS (1 << 17)
/* From here on a call takes less time than to copy here. */
#define SHORT_FRAME 64
/* From here on the compiler uses the number that was checked and no copy of it, of which the verifier of Linux 6.1 knows
 * nothing. */
#define KEEP_CHECKED(NUMBER) asm volatile("" : "+r"(NUMBER))

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct transmitter);
} transmitter SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, DEPARTURES);
	__type(key, __u32);
	__type(value, struct departure);
} departures SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, OUTLETS);
	__type(key, __u32);
	__type(value, struct outlet);
} outlets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* enlarged at load where frames need it */
	__type(key, __u32);
	__type(value, struct frames);
} frames SEC(".maps");

/* Of each of the last batches: ns from its first frame, once that was due, to when the kernel asks for a frame of the
 * next one. All that the frames cause on this CPU, in the device too, lies between; waits for due times do not. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, BATCHES);
	__type(key, __u32);
	__type(value, struct batch_time);
} batch_times SEC(".maps");

struct wait {
	__u64 until_ns;
	__u64 now_ns;
};

static long wait_a_little(__u32 round, struct wait *wait)
{
	wait->now_ns = bpf_ktime_get_ns();
	return wait->now_ns >= wait->until_ns;
}

static __always_inline void count_gap(struct outlet *outlet, __u64 gap_ns)
{
	__u64 rest = gap_ns >> (SUB_BITS + 1);
	__u64 octave = 0;

	/* octave = bits in rest; BPF has no instruction that counts leading zeros. */
	if (rest >> 32) { rest >>= 32; octave += 32; }
	if (rest >> 16) { rest >>= 16; octave += 16; }
	if (rest >> 8) { rest >>= 8; octave += 8; }
	if (rest >> 4) { rest >>= 4; octave += 4; }
	if (rest >> 2) { rest >>= 2; octave += 2; }
	if (rest >> 1) { rest >>= 1; octave += 1; }
	octave += rest;
	__u64 index = (octave << SUB_BITS) + (gap_ns >> (octave & 63));
	if (index >= BUCKETS)
		index = BUCKETS - 1;
	outlet->gaps[index] += 1;
}

static __always_inline void sign(__u8 *signature, __u64 word, __u64 now_ns)
{
	__u64 time = (now_ns & MASK_48) << 16;

	time |= ~fold(MAGIC + sum_words(word) + sum_words(time)) & 0xFFFF;
	*(volatile __u16 *)signature = bpf_htons(MAGIC);
	*(volatile __u64 *)(signature + 2) = bpf_cpu_to_be64(word);
	*(volatile __u64 *)(signature + 10) = bpf_cpu_to_be64(time);
}

/* Copies SIZE bytes and moves on; only inside write_frame. */
#define COPY(SIZE)                                                         \
	do {                                                               \
		if (to + (SIZE) > end)                                     \
			return 1;                                          \
		__builtin_memcpy(to, from, (SIZE));                        \
		to += (SIZE);                                              \
		from += (SIZE);                                            \
	} while (0)

/* Writes `length` bytes to the beginning of the packet. */
static __always_inline int write_frame(struct xdp_md *context, __u8 *from, __u32 length)
{
	if (length >= SHORT_FRAME)
		return bpf_xdp_store_bytes(context, 0, from, length);
	void *to = (void *)(long)context->data;
	void *end = (void *)(long)context->data_end;

	if (length & 32)
		COPY(32);
	if (length & 16)
		COPY(16);
	if (length & 8)
		COPY(8);
	if (length & 4)
		COPY(4);
	if (length & 2)
		COPY(2);
	if (length & 1)
		COPY(1);
	return 0;
}

static __always_inline void time_batch(struct transmitter *own, __u64 now_ns)
{
	__u32 slot = own->batches & (BATCHES - 1);
	struct batch_time *time = bpf_map_lookup_elem(&batch_times, &slot);

	if (time) {
		time->begun_ns = own->batch_begun_ns;
		time->took_ns = now_ns - own->batch_begun_ns;
	}
	own->batches += 1;
	own->batch_begun_ns = 0;
}

SEC("xdp")
int transmit(struct xdp_md *context)
{
	__u32 zero = 0;
	struct transmitter *own = bpf_map_lookup_elem(&transmitter, &zero);

	if (!own)
		return XDP_ABORTED;
	__u64 next = own->next;
	if (own->stop || next == *(volatile __u64 *)&own->filled)
		return XDP_DROP;
	__u32 slot = next & (DEPARTURES - 1);
	struct departure *departure = bpf_map_lookup_elem(&departures, &slot);
	if (!departure)
		return XDP_ABORTED;
	__u32 port = departure->outlet;
	struct outlet *outlet = bpf_map_lookup_elem(&outlets, &port);
	__u32 offset = *(volatile __u32 *)&departure->offset;
	__u32 length = *(volatile __u16 *)&departure->length;
	__u32 lot = offset >> FRAMES_SHIFT;
	struct frames *table = bpf_map_lookup_elem(&frames, &lot);
	if (!outlet || !table || length < SIGNATURE_LENGTH || length > LONGEST_FRAME)
		return XDP_ABORTED;
	KEEP_CHECKED(length);

	if (next < *(volatile __u64 *)&outlet->skip_below) {
		if (next < outlet->skipped_from)
			outlet->skipped_from = next;
		outlet->unsent += 1;
		own->next = next + 1;
		return XDP_DROP;
	}
	__u64 due_ns = departure->due_ns + own->postponed_ns;
	__u64 now_ns = bpf_ktime_get_ns();
	int begins_batch = !((next - own->batch_from) & own->batch_mask);
	if (begins_batch && own->batch_begun_ns)
		time_batch(own, now_ns);
	if (now_ns < due_ns) {
		struct wait wait = { .until_ns = due_ns, .now_ns = now_ns };

		if (due_ns - now_ns > WAIT_NS)
			return XDP_DROP;
		bpf_loop(WAIT_ROUNDS, wait_a_little, &wait, 0);
		own->waited_ns += wait.now_ns - now_ns;
		now_ns = wait.now_ns;
		if (now_ns < due_ns)
			return XDP_DROP;
	}
	__u64 put_off_ns = own->interrupted_ns < own->patience_ns ? own->interrupted_ns : own->patience_ns;
	if (now_ns > own->give_up_ns + put_off_ns) {
		own->stop = 1;
		return XDP_DROP;
	}

	__u8 *frame = table->bytes + (offset & (FRAMES_BYTES - 8));
	__u32 place = length - SIGNATURE_LENGTH - (offset & ROOMY ? ROOM_LENGTH : 0);
	if (place > LONGEST_FRAME - SIGNATURE_LENGTH)
		return XDP_ABORTED;
	KEEP_CHECKED(place);
	/* Frames of a sender may differ in length; the frame that arrives here has the greatest length. */
	void *start = (void *)(long)context->data;
	void *end = (void *)(long)context->data_end;
	__s64 excess = end - start - (__s64)length;
	if (excess && bpf_xdp_adjust_tail(context, -excess))
		return XDP_ABORTED;
	if (write_frame(context, frame, length))
		return XDP_ABORTED;
	/* Into the packet and not into the table: the copy would wait for what was stored there just before. */
	if (!(offset & UNSIGNED)) {
		void *signature = (void *)(long)context->data + place;

		if (signature + SIGNATURE_LENGTH > (void *)(long)context->data_end)
			return XDP_ABORTED;
		sign(signature, departure->stream_and_sequence, now_ns);
	}

	if (outlet->offered)
		count_gap(outlet, now_ns - outlet->last_sent_ns);
	else
		outlet->first_sent_ns = now_ns;
	outlet->offered += 1;
	outlet->last_sent_ns = now_ns;
	__u64 lag_ns = now_ns - due_ns;
	if (lag_ns > outlet->lag_max_ns)
		outlet->lag_max_ns = lag_ns;
	if (lag_ns > own->catch_up_ns) {
		__u64 number = own->shifted;

		if (number < SHIFTS) {
			own->shifts[number] = (struct shift){ .sent_ns = now_ns, .by_ns = lag_ns };
			own->shifted = number + 1;
		}
		own->postponed_ns += lag_ns;
		/* A sender that is too slow falls behind frame by frame; one that is stopped, between two frames. */
		if (now_ns - own->last_ns > own->catch_up_ns) {
			own->interrupted_ns += lag_ns;
			own->interruptions += 1;
		}
	}
	if (begins_batch)
		own->batch_begun_ns = now_ns;
	own->last_ns = now_ns;
	own->next = next + 1;
	capture(context, now_ns, outlet->interface, OUTGOING);
	return bpf_redirect(outlet->interface, 0);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
