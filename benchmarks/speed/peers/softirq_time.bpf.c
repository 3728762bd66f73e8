/* Sums the time that soft interrupts take, by CPU and by the thread in whose time they ran. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct whose {
	__u32 cpu;
	__u32 thread;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct whose);
	__type(value, __u64);
} spent SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} entered SEC(".maps");

SEC("raw_tp/softirq_entry")
int enter(void *context)
{
	__u32 zero = 0;
	__u64 *since = bpf_map_lookup_elem(&entered, &zero);

	if (since)
		*since = bpf_ktime_get_ns();
	return 0;
}

SEC("raw_tp/softirq_exit")
int leave(void *context)
{
	__u32 zero = 0;
	__u64 *since = bpf_map_lookup_elem(&entered, &zero);

	if (!since || !*since)
		return 0;
	__u64 took = bpf_ktime_get_ns() - *since;
	struct whose whose = { .cpu = bpf_get_smp_processor_id(), .thread = (__u32)bpf_get_current_pid_tgid() };
	__u64 *sum = bpf_map_lookup_elem(&spent, &whose);

	if (sum)
		*sum += took;
	else
		bpf_map_update_elem(&spent, &whose, &took, BPF_ANY);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
