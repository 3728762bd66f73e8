/* A lab device's known capacity and known cost: `police` lets frames through at a stated rate and drops the rest,
 * `burden` takes a stated time of the device's CPU for each frame.
 *
 * `police` runs in XDP at a port of the device: that is before the frame waits for the device's core, so it sees frames
 * when they arrive, not when the core has time. It must never delay a frame. `burden` runs at tc ingress, which the
 * kernel carries out on the device's core. core/src/lab/throttle.rs mirrors the structs and loads one object for each
 * port.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

/* Backlogs are in 2^-20 ns, so that the time of one frame is exact to 10^-6 at 1 Gframe/s. */
#define FRACTION_BITS 20
/* What a frame of any length occupies on an Ethernet link beside its bytes: preamble, FCS, gap. */
#define AROUND_BYTES (8 + 4 + 12)
/* Without FCS; a link fills shorter frames up. */
#define SHORTEST_BYTES 60
/* At 10 ns and more for each round, enough for `MOST_COST_NS` in throttle.rs. */
#define WAIT_ROUNDS (1 << 14)

struct policed {
	__u64 passed;
	__u64 dropped;
	/* How long frames that were let through would have waited at a link of this rate, at most: 2^-20 ns. */
	__u64 longest;
	/* What the port still has to carry, and when that was true. */
	__u64 backlog;
	__u64 at_ns;
};

struct burdened {
	__u64 frames;
	__u64 spent_ns;
	/* How much longer than its cost the last frame took: the next takes so much less, and all together are exact. */
	__u64 over_ns;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct policed);
} policed SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct burdened);
} burdened SEC(".maps");

/* 2^-20 ns. */
volatile const __u64 each_frame = 0;
volatile const __u64 each_byte = 0;
volatile const __u64 burst = 0;
volatile const __u64 cost_ns = 0;

/* A virtual queue, the generic cell rate algorithm (ITU-T I.371). One CPU at a time receives from a port's one queue,
 * so plain stores are enough. */
SEC("xdp.frags")
int police(struct xdp_md *context)
{
	__u32 zero = 0;
	struct policed *own = bpf_map_lookup_elem(&policed, &zero);

	if (!own)
		return XDP_ABORTED;
	__u64 now_ns = bpf_ktime_get_ns();
	__u64 bytes = bpf_xdp_get_buff_len(context);
	__u64 backlog = own->backlog;
	/* Clocks of two CPUs may differ by some ns. */
	if (now_ns > own->at_ns) {
		__u64 elapsed_ns = now_ns - own->at_ns;

		backlog = elapsed_ns > backlog >> FRACTION_BITS ? 0 : backlog - (elapsed_ns << FRACTION_BITS);
		own->at_ns = now_ns;
	}
	if (backlog > burst) {
		own->backlog = backlog;
		own->dropped += 1;
		return XDP_DROP;
	}
	if (backlog > own->longest)
		own->longest = backlog;
	if (bytes < SHORTEST_BYTES)
		bytes = SHORTEST_BYTES;
	own->backlog = backlog + each_frame + each_byte * (bytes + AROUND_BYTES);
	own->passed += 1;
	return XDP_PASS;
}

struct wait {
	__u64 until_ns;
	__u64 now_ns;
};

static long wait_a_little(__u32 round, struct wait *wait)
{
	wait->now_ns = bpf_ktime_get_ns();
	return wait->now_ns >= wait->until_ns;
}

SEC("classifier")
int burden(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct burdened *own = bpf_map_lookup_elem(&burdened, &zero);

	if (!own)
		return TC_ACT_UNSPEC;
	__u64 start_ns = bpf_ktime_get_ns();
	struct wait wait = { .until_ns = start_ns + cost_ns - own->over_ns, .now_ns = start_ns };

	if (wait.until_ns > start_ns)
		bpf_loop(WAIT_ROUNDS, wait_a_little, &wait, 0);
	__u64 over_ns = wait.now_ns - wait.until_ns;
	/* What took longer than the cost itself was an interruption, which no later frame makes up for. */
	own->over_ns = over_ns > cost_ns ? 0 : over_ns;
	own->frames += 1;
	own->spent_ns += wait.now_ns - start_ns;
	/* The next program or, without one, the stack. */
	return TC_ACT_UNSPEC;
}

char LICENSE[] SEC("license") = "GPL";
