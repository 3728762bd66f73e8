/* What the transmit and receive programs share with core/src/port: the signature's place and the maps' layout.
 *
 * The signature itself is defined in docs/signature/; every structure here is also in core/src/port/bpf/layout.rs, and
 * both must be changed together.
 */
#ifndef KEISOKU_WIRE_H
#define KEISOKU_WIRE_H

#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define SIGNATURE_LENGTH 18
/* Zero bytes that may follow the signature. */
#define ROOM_LENGTH 4
#define MAGIC 0x6B73
#define MASK_48 0xFFFFFFFFFFFFULL

/* Frames from BPF live in one page with its headroom and tailroom. */
#define LONGEST_FRAME 4096
/* Bytes of the frames in one lot of a sender's tables, of which there are one or several; a power of two. */
#define FRAMES_SHIFT 24
#define FRAMES_BYTES (1 << FRAMES_SHIFT)
/* The buckets of core/src/latency/histogram.rs: 2^7 for each doubling, 41 octaves. */
#define SUB_BITS 7
#define BUCKETS (41 << SUB_BITS)

#define DEPARTURES (1 << 18)
#define OUTLETS 32
#define STREAMS 4096
#define RING_RECORDS (1 << 20)
#define MET_VIEWS (1 << 17)
/* The most programs on other CPUs that pass the check for room at the same time. */
#define RING_MARGIN 1024
/* The most receive queues of a port with AF_XDP sockets. */
#define QUEUES 64
/* In front of each frame that an AF_XDP socket receives: its stamp. */
#define STAMP_BYTES 8

/* The most shifts of a schedule that are kept. */
#define SHIFTS 1024
/* The last batches whose times are kept; a power of two. */
#define BATCHES (1 << 16)

/* A frame left at `sent_ns`, so late that all later ones are due `by_ns` later. */
struct shift {
	__u64 sent_ns;
	__u64 by_ns;
};

/* Its first frame was due, or left, at `begun_ns`. */
struct batch_time {
	__u64 begun_ns;
	__u64 took_ns;
};

struct transmitter {
	/* Written by user space before a trial. */
	__u64 give_up_ns;
	__u64 catch_up_ns;
	/* By how much interruptions may put off `give_up_ns`. */
	__u64 patience_ns;
	/* Written by user space at any time. */
	__u64 stop;
	/* Departures written so far. */
	__u64 filled;
	/* Written by the program. */
	__u64 next;
	/* Added to each due time. */
	__u64 postponed_ns;
	/* The part of it because the sender was stopped, and how often it was. */
	__u64 interrupted_ns;
	__u64 interruptions;
	__u64 last_ns;
	/* Time spent waiting for due times. */
	__u64 waited_ns;
	__u64 shifted;
	/* Written by user space before a trial: frames of a batch minus one, of a power of two; all bits: no batch is timed. */
	__u64 batch_mask;
	/* Written by user space before each call: the first frame of its first batch; and no batch is under way. */
	__u64 batch_from;
	__u64 batch_begun_ns;
	/* Written by the program: how many batches were timed. */
	__u64 batches;
	struct shift shifts[SHIFTS];
};

/* One frame that is to leave. */
struct departure {
	__u64 due_ns;
	__u64 stream_and_sequence;
	/* Offset in the bytes of all lots, a multiple of 8; UNSIGNED: sent unchanged, ROOMY: room follows the signature. */
	__u32 offset;
	__u16 length;
	__u16 outlet;
};
#define UNSIGNED 1
#define ROOMY 2

/* A port by which frames leave. */
struct outlet {
	__u64 interface;
	/* Written by user space at any time: departures before this one are not sent, as the port has no link. */
	__u64 skip_below;
	/* The first that was not; all bits: none. Frames that were not sent. */
	__u64 skipped_from;
	__u64 unsent;
	__u64 offered;
	__u64 first_sent_ns;
	__u64 last_sent_ns;
	__u64 lag_max_ns;
	__u64 gaps[BUCKETS];
};

struct frames {
	__u8 bytes[FRAMES_BYTES + LONGEST_FRAME];
};

#define FREE_WORDS 6

/* Free bits of the 8 bytes that begin at byte `at` of a frame, which is a multiple of 8. */
struct free_word {
	__u64 bits;
	__u32 at;
	__u32 pad;
};

struct receiver {
	/* Written by user space between trials. */
	__u64 watching;
	__u32 first_stream;
	__u32 streams;
	__u64 dropped;
	/* What view.h covers of a frame whose headers are as long as they were sent. */
	__u32 window;
	/* Bits of these words do not count in it. */
	__u32 free_words;
	struct free_word free[FREE_WORDS];
	/* Where two words begin that are recorded in place of a view; the second is zero where none are. */
	__u32 words[2];
	__u8 pad[56];
	/* Next record to write; in a cache line of its own. */
	__u64 head;
	__u8 pad1[120];
	/* Next record that user space will read. */
	__u64 tail;
};

/* What redirect.c hands to AF_XDP sockets. */
struct redirector {
	/* Written by user space between trials. */
	__u64 watching;
	__u32 first_stream;
	__u32 streams;
	/* Frames of the trial's streams, and all others, since user space last set these to zero. */
	__u64 expected;
	__u64 foreign;
	/* Frames of other trials that the program took out, since it was attached. Some drivers count them as dropped. */
	__u64 taken;
};

/* What is expected of a stream's frames; `most` is zero for one that is not signed. */
struct claim {
	__u16 least;
	__u16 most;
	__u16 checked_from;
	/* Bytes of a tag that the port may take out of the frame before the program sees it. */
	__u8 cut;
	/* Zero bytes that follow the signature. */
	__u8 room;
};

enum class {
	INTACT = 0,
	CORRUPT = 1,
	FOREIGN = 2,
};

struct record {
	__u64 received_ns;
	__u64 stream_and_sequence;
	/* sent_ns << 16 | lap << 4 | class. The lap distinguishes a new record from one of the previous round. */
	__u64 sent_lap_class;
};

static __always_inline __u64 sum_words(__u64 value)
{
	return (value >> 48) + (value >> 32 & 0xFFFF) + (value >> 16 & 0xFFFF) + (value & 0xFFFF);
}

/* To 16 bits; enough for any sum below 2^48. */
static __always_inline __u64 fold(__u64 sum)
{
	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = (sum & 0xFFFF) + (sum >> 16);
	return (sum & 0xFFFF) + (sum >> 16);
}

/* Bounds offsets for the verifier; no frame in one page is longer. */
#define OFFSET_MASK 0x3FFF

/* A signature's magic at `place`, or nothing. */
static __always_inline void *find_magic(void *data, void *end, __u32 place)
{
	if (place > OFFSET_MASK || data + place + SIGNATURE_LENGTH > end)
		return 0;
	return *(volatile __u16 *)(data + place) == bpf_htons(MAGIC) ? data + place : 0;
}

#endif
