/* Copies the frames that the program of a port handles into a ring for core/src/capture/bpf_ring.rs.
 *
 * A packet socket sees neither the frames that an XDP program consumes nor those that it sends. The copy is off
 * unless `capture_bytes` is set at load; it is a constant, so that the verifier removes the code. The copy must
 * never change a frame or the decision of a program. A frame for which the ring has no room is counted.
 */
#ifndef KEISOKU_CAPTURE_H
#define KEISOKU_CAPTURE_H

#include "wire.h"

/* Frames of XDP live in one page. */
#define CAPTURED_BYTES 4096
/* The most interfaces that one program serves. */
#define CAPTURED_INTERFACES 64

/* The values of the flags in packet blocks of pcapng. */
enum direction {
	INCOMING = 1,
	OUTGOING = 2,
};

/* The same as `Head` in core/src/capture/bpf_ring.rs; the bytes of the frame that are kept follow. */
struct captured {
	__u64 time_ns;
	__u32 length;
	__u32 interface;
	__u16 direction;
	/* The last bytes of the frame if it is cut, else zero. */
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

/* A frame is assembled here, because the ring takes one piece of memory and the stack is too small. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct captured);
} capturing SEC(".maps");

/* Frames for which the ring had no room, by interface. */
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

/* `time_ns` is the program's stamp of this frame, on CLOCK_MONOTONIC. */
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
	/* The compiler must not remove the check of the bounds, because the verifier needs it. */
	asm volatile("" : "+r"(kept));
	if (kept == 0 || kept > CAPTURED_BYTES || bpf_xdp_load_bytes(context, 0, frame->bytes, kept))
		return;
	/* The reader polls, because a wake-up for each frame would cost more than the rest of this function. */
	if (bpf_ringbuf_output(&captured, frame, CAPTURED_HEAD + kept, BPF_RB_NO_WAKEUP))
		count_uncaptured(interface);
}

#endif
