/* Sends one frame a run: waits until it is due, stamps it, and hands it to the port.
 *
 * Runs under BPF_PROG_TEST_RUN with live frames, on one CPU at a time, so that plain stores
 * to the map are enough. It never skips a sequence number and never sends before the due time.
 *
 * The whole template is written into every frame: the kernel recycles the pages, and a device
 * under test that changes a frame (a router its TTL, a faulty one its payload) changes the page.
 */
#include "capture.h"
#include "wire.h"

/* Longest wait inside one run: soft interrupts of this CPU are held up meanwhile. */
#define WAIT_NS 400000
#define WAIT_ROUNDS (1 << 17)

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct transmitter);
} transmitter SEC(".maps");

struct wait {
	__u64 until_ns;
	__u64 now_ns;
};

static long wait_a_little(__u32 round, struct wait *wait)
{
	wait->now_ns = bpf_ktime_get_ns();
	return wait->now_ns >= wait->until_ns;
}

static __always_inline void count_gap(struct transmitter *own, __u64 gap_ns)
{
	__u64 rest = gap_ns >> (SUB_BITS + 1);
	__u64 octave = 0;

	/* octave = bits in rest: BPF has no count of leading zeros. */
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
	own->gaps[index] += 1;
}

SEC("xdp")
int transmit(struct xdp_md *context)
{
	__u32 zero = 0;
	struct transmitter *own = bpf_map_lookup_elem(&transmitter, &zero);

	if (!own)
		return XDP_ABORTED;
	__u64 sequence = own->sequence;
	__u32 length = own->length;
	if (own->stop || sequence >= own->frames)
		return XDP_DROP;
	if (length < SIGNATURE_LENGTH || length > TEMPLATE_LENGTH)
		return XDP_ABORTED;

	__u64 due_ns = own->due_ns;
	__u64 now_ns = bpf_ktime_get_ns();
	if (now_ns < due_ns) {
		struct wait wait = { .until_ns = due_ns, .now_ns = now_ns };

		if (due_ns - now_ns > WAIT_NS)
			return XDP_DROP;
		bpf_loop(WAIT_ROUNDS, wait_a_little, &wait, 0);
		now_ns = wait.now_ns;
		if (now_ns < due_ns)
			return XDP_DROP;
	}
	if (now_ns > own->give_up_ns) {
		own->stop = 1;
		return XDP_DROP;
	}

	__u64 word = own->stream_word | (sequence & MASK_48);
	__u64 time = (now_ns & MASK_48) << 16;
	time |= ~fold(MAGIC + sum_words(word) + sum_words(time)) & 0xFFFF;
	__u32 place = length - SIGNATURE_LENGTH;
	if (place > TEMPLATE_LENGTH - SIGNATURE_LENGTH)
		return XDP_ABORTED;
	__u8 *signature = own->template + place;
	*(volatile __u16 *)signature = bpf_htons(MAGIC);
	*(volatile __u64 *)(signature + 2) = bpf_cpu_to_be64(word);
	*(volatile __u64 *)(signature + 10) = bpf_cpu_to_be64(time);
	if (bpf_xdp_store_bytes(context, 0, own->template, length))
		return XDP_ABORTED;

	if (sequence)
		count_gap(own, now_ns - own->last_sent_ns);
	else
		own->first_sent_ns = now_ns;
	own->last_sent_ns = now_ns;
	__u64 lag_ns = now_ns - due_ns;
	if (lag_ns > own->lag_max_ns)
		own->lag_max_ns = lag_ns;
	if (lag_ns > own->catch_up_ns) {
		own->postponed_ns += lag_ns;
		own->postponements += 1;
		due_ns = now_ns;
	}
	__u64 fraction = own->due_fraction + own->period_fraction;
	own->due_ns = due_ns + own->period_ns + (fraction >> 32);
	own->due_fraction = fraction & 0xFFFFFFFF;
	own->sequence = sequence + 1;
	capture(context, now_ns, own->interface, OUTGOING);
	return bpf_redirect(own->interface, 0);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
