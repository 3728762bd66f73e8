/* An example of a data plane: sends every frame on to the interface OUT, as XDP. OUT is given when it is built.
 * WORK makes it slower by so many steps a frame: the regression that the example finds. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#ifndef WORK
#define WORK 0
#endif

SEC("xdp")
int forward(struct xdp_md *context)
{
#if WORK
    __u32 left = 0;

    for (int step = 0; step < WORK; step++)
        left += bpf_get_prandom_u32();
    if (left == 1)
        return XDP_DROP;
#endif
    return bpf_redirect(OUT, 0);
}

char _license[] SEC("license") = "GPL";
