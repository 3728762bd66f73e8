/* Passes every frame. It is attached to a port that only sends, where the driver takes XDP frames only while a program is
 * attached (igb, virtio-net, i40e and others reserve queues for them then).
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp.frags")
int pass(struct xdp_md *context)
{
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
