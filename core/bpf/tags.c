/* Carries frames between two interfaces: into VLANs at the one, and out of them to the other.
 *
 * So a veth is in a VLAN of a port on a kernel without 8021q. It is another interface than that of the frames with tags,
 * because packet sockets see what arrives at an interface before its programs do. core/src/lab/vlan_tags.rs mirrors `tag`
 * and MOST_TAGS.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define MOST_TAGS 2
#define NUMBER 0x0FFF

struct tag {
	/* Of IEEE 802.1Q or 802.1ad. */
	__u16 ethertype;
	/* Priority and number. */
	__u16 control;
};

struct tags {
	struct tag each[MOST_TAGS];
};

/* The outermost first; those without an ethertype are none. */
const volatile struct tags tags;
/* Indices of the interfaces: with tags, and without. */
const volatile __u32 outside;
const volatile __u32 inside;

SEC("classifier")
int leave(struct __sk_buff *skb)
{
	for (int i = MOST_TAGS - 1; i >= 0; i--) {
		__u16 ethertype = tags.each[i].ethertype;
		if (ethertype && bpf_skb_vlan_push(skb, bpf_htons(ethertype), tags.each[i].control))
			return TC_ACT_SHOT;
	}
	return bpf_redirect(outside, 0);
}

SEC("classifier")
int arrive(struct __sk_buff *skb)
{
	for (int i = 0; i < MOST_TAGS; i++) {
		__u16 ethertype = tags.each[i].ethertype;
		if (!ethertype)
			break;
		if (!skb->vlan_present || skb->vlan_proto != bpf_htons(ethertype) ||
		    (skb->vlan_tci & NUMBER) != (tags.each[i].control & NUMBER) || bpf_skb_vlan_pop(skb))
			return TC_ACT_SHOT;
	}
	/* A tag that is left is that of another VLAN, or only a priority (IEEE 802.1Q, 9.6). */
	if (skb->vlan_present && skb->vlan_tci & NUMBER)
		return TC_ACT_SHOT;
	return bpf_redirect(inside, 0);
}

char LICENSE[] SEC("license") = "GPL";
