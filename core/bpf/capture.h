/* Copies the frames that a port's program handles into a ring for core/src/capture/bpf_ring.rs.
 *
 * A packet socket sees neither what an XDP program consumes nor what it sends. Off unless `capture_bytes` is
 * set at load: it is constant then, and the verifier takes the code out. It must never change a
 * frame or a program's decision: a frame that finds the ring full is counted, never forgotten.
 */
#ifndef KEISOKU_CAPTURE_H
#define KEISOKU_CAPTURE_H

#include "wire.h"

/* Frames of XDP live in one page. */
#define CAPTURED_BYTES 4096
/* Interfaces that one program serves at most. */
#define CAPTURED_INTERFACES 64

/* As in the flags of pcapng's packet blocks. */
enum direction {
	INCOMING = 1,
	OUTGOING = 2,
};

/* The twin of core/src/capture/bpf_ring.rs's `Head`, followed by as much of the frame as is kept. */
struct captured {
	__u64 time_ns;
	__u32 length;
	__u32 interface;
	__u16 direction;
	/* The frame's last bytes, if it is cut; else zero. */
	__u8 signature[SIGNATURE_LENGTH];
	__u32 unused;
	__u8 bytes[CAPTURED_BYTES];
};
#define CAPTURED_HEAD __builtin_offsetof(struct captured, bytes)

/* Bytes of each frame to keep; 0: no capture. */
volatile const __u32 capture_bytes = 0;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* enlarged at load */
} captured SEC(".maps");

/* A frame is put together here: the ring takes one piece of memory, and the stack is too small. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct captured);
} capturing SEC(".maps");

/* Frames that found the ring full, by interface. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CAPTURED_INTERFACES);
	__type(key, __u32);
	__type(value, __u64);
} uncaptured SEC(".maps");

static __always_inline void count_uncaptured(__u32 interface)
{
	__u64 *count = bpf_map_lookup_elem(&uncaptured, &interface);
	__u64 none = 0;

	if (!count) {
		bpf_map_update_elem(&uncaptured, &interface, &none, BPF_NOEXIST);
		count = bpf_map_lookup_elem(&uncaptured, &interface);
	}
	if (count)
		__sync_fetch_and_add(count, 1);
}

/* `time_ns` is the stamp that the program has taken of this frame, on CLOCK_MONOTONIC. */
static __always_inline void capture(struct xdp_md *context, __u64 time_ns, __u32 interface, enum direction direction)
{
	__u32 zero = 0;
	__u32 most = capture_bytes;

	if (!most)
		return;
	struct captured *frame = bpf_map_lookup_elem(&capturing, &zero);
	if (!frame)
		return;
	__u32 length = bpf_xdp_get_buff_len(context);
	__u32 kept = length < most ? length : most;
	if (kept > CAPTURED_BYTES)
		kept = CAPTURED_BYTES;
	frame->time_ns = time_ns;
	frame->length = length;
	frame->interface = interface;
	frame->direction = direction;
	__builtin_memset(frame->signature, 0, SIGNATURE_LENGTH);
	if (kept < length && length >= SIGNATURE_LENGTH)
		bpf_xdp_load_bytes(context, length - SIGNATURE_LENGTH, frame->signature, SIGNATURE_LENGTH);
	/* The compiler must not deduce the bounds away: the verifier wants to see them. */
	asm volatile("" : "+r"(kept));
	if (kept == 0 || kept > CAPTURED_BYTES || bpf_xdp_load_bytes(context, 0, frame->bytes, kept))
		return;
	/* The reader polls: a wake-up for each frame would cost more than everything else here. */
	if (bpf_ringbuf_output(&captured, frame, CAPTURED_HEAD + kept, BPF_RB_NO_WAKEUP))
		count_uncaptured(interface);
}

#endif
