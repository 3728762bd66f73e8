/* Tells how much time soft interrupts have taken, for each line that it reads.
 *
 * softirq_time OBJECT     (prints "CPU THREAD NS" for each pair that there is, then an empty line)
 *
 * The kernel takes the programs away when this process ends, however it ends.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct whose {
	uint32_t cpu, thread;
};

static void *need(void *pointer, const char *what)
{
	if (!pointer) {
		perror(what);
		exit(1);
	}
	return pointer;
}

int main(int count, char **words)
{
	struct bpf_program *program;
	int sign;

	if (count != 2) {
		fputs("softirq_time: OBJECT\n", stderr);
		return 1;
	}
	struct bpf_object *object = need(bpf_object__open_file(words[1], NULL), "softirq_time: open the programs");

	if (bpf_object__load(object)) {
		perror("softirq_time: load the programs");
		return 1;
	}
	struct bpf_map *spent = need(bpf_object__find_map_by_name(object, "spent"), "softirq_time: find the sums");

	bpf_object__for_each_program(program, object)
		need(bpf_program__attach(program), "softirq_time: attach");
	while ((sign = getchar()) != EOF) {
		struct whose at, next, *before = NULL;
		uint64_t took;

		if (sign != '\n')
			continue;
		while (!bpf_map_get_next_key(bpf_map__fd(spent), before, &next)) {
			if (!bpf_map_lookup_elem(bpf_map__fd(spent), &next, &took))
				printf("%u %u %llu\n", next.cpu, next.thread, (unsigned long long)took);
			at = next;
			before = &at;
		}
		puts("");
		fflush(stdout);
	}
	return 0;
}
