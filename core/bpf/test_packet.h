/* How the programs that watch the kernel recognise a test frame in any of its packets: by the signature, wherever in the
 * packet that lies. What is foreign is never taken for one.
 */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define SIGNATURE_LENGTH 18
#define MAGIC 0x6B73
/* The signature ends at most 42 bytes of padding before the end of a frame. */
#define TAIL 64

/* In place of this helper user space calls `bpf_dynptr_from_skb` of the kernel (Linux 6.11), or one that fails. */
static long (*const dynptr_from_skb)(void *, __u64, struct bpf_dynptr *) = (void *)0x6B730003;

/* What is needed of the kernel's structures, at the places that the running kernel reports. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct ns_common {
	unsigned int inum;
};
struct net {
	struct ns_common ns;
};
typedef struct {
	struct net *net;
} possible_net_t;
struct Qdisc_ops {
	char id[16];
};
struct Qdisc {
	const struct Qdisc_ops *ops;
};
struct netdev_queue {
	struct Qdisc *qdisc;
};
struct net_device {
	char name[16];
	int ifindex;
	possible_net_t nd_net;
	struct Qdisc *qdisc;
	struct netdev_queue *_tx;
	void *rx_handler;
};
struct sk_buff {
	struct net_device *dev;
	struct sock *sk;
	unsigned int len;
	unsigned int data_len;
	__be16 protocol;
	__u16 network_header;
	unsigned char *head;
	unsigned char *data;
};
#pragma clang attribute pop

static __always_inline __u64 words_of(__u64 value)
{
	return (value >> 48) + (value >> 32 & 0xFFFF) + (value >> 16 & 0xFFFF) + (value & 0xFFFF);
}

/* Stream and number of the test frame that ends as these TAIL bytes; zero: it is none of this trial's. The verifier looks
 * once at what follows the search, as the place is not needed any more then. */
static __always_inline __u64 identity(__u32 first_stream, __u32 streams, const __u8 *tail)
{
	/* Behind six bytes, so that the words of the signature are aligned. */
	__u64 words[3] = {};
	__u32 at = TAIL - SIGNATURE_LENGTH;

	for (int back = 0; back < TAIL - SIGNATURE_LENGTH; back++) {
		if (tail[at] == MAGIC >> 8 && tail[at + 1] == (MAGIC & 0xFF))
			break;
		at--;
	}
	if (bpf_probe_read_kernel((__u8 *)words + 6, SIGNATURE_LENGTH, tail + at))
		return 0;
	if (((__u8 *)words)[6] != MAGIC >> 8 || ((__u8 *)words)[7] != (MAGIC & 0xFF))
		return 0;
	__u64 word = bpf_be64_to_cpu(words[1]);
	__u64 sum = MAGIC + words_of(word) + words_of(bpf_be64_to_cpu(words[2]));

	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = (sum & 0xFFFF) + (sum >> 16);
	return sum == 0xFFFF && ((__u32)(word >> 48) - first_stream & 0xFFFF) < streams ? word : 0;
}

/* Reads the last bytes of a packet. Behind its headers it may be in pages of its own. */
static __always_inline int read_end(__u8 *tail, struct sk_buff *skb)
{
	struct bpf_dynptr whole;

	if (!skb->data_len)
		return bpf_probe_read_kernel(tail, TAIL, skb->data + skb->len - TAIL);
	if (dynptr_from_skb(skb, 0, &whole))
		return -1;
	return bpf_dynptr_read(tail, TAIL, &whole, skb->len - TAIL, 0);
}
