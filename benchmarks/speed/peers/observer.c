/* Holds the neutral observer on an interface until its standard input ends, then writes the stamps.
 *
 * observer OBJECT INTERFACE CAPACITY     (prints a line when it watches; then ns as 64-bit words)
 *
 * With a capacity of 0 it only swallows.
 *
 * The kernel takes the program off the interface when this process ends, however it ends.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void *need(void *pointer, const char *what)
{
	if (!pointer || pointer == MAP_FAILED) {
		perror(what);
		exit(1);
	}
	return pointer;
}

int main(int count, char **words)
{
	if (count != 4) {
		fputs("observer: OBJECT INTERFACE CAPACITY\n", stderr);
		return 1;
	}
	size_t capacity = strtoul(words[3], NULL, 10);
	size_t room = capacity ? capacity : 1;
	struct bpf_object *object = need(bpf_object__open_file(words[1], NULL), "observer: open the program");
	struct bpf_map *map = need(bpf_object__find_map_by_name(object, "stamps"), "observer: find its map");
	struct bpf_map *counts = need(bpf_object__find_map_by_name(object, ".bss"), "observer: find its count");

	if (bpf_map__set_max_entries(map, room) || bpf_object__load(object)) {
		perror("observer: load the program");
		return 1;
	}
	struct bpf_program *program = need(bpf_object__find_program_by_name(object, capacity ? "observe" : "swallow"),
					   "observer: find the program");
	need(bpf_program__attach_xdp(program, if_nametoindex(words[2])), "observer: attach to the interface");
	uint64_t *stamps = need(mmap(NULL, room * sizeof(uint64_t), PROT_READ, MAP_SHARED, bpf_map__fd(map), 0),
				"observer: map the stamps");
	uint64_t seen;
	uint32_t zero = 0;
	char byte;

	puts("watching");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	if (bpf_map_lookup_elem(bpf_map__fd(counts), &zero, &seen)) {
		perror("observer: read the count");
		return 1;
	}
	fwrite(stamps, sizeof(uint64_t), seen < capacity ? seen : capacity, stdout);
	return 0;
}
