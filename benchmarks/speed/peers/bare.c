/* The bare sender: the kernel's live frames (BPF_PROG_TEST_RUN), with a program that does nothing but redirect.
 *
 * No tester that stamps its frames can cost less on this way into an interface. It ends when it is killed.
 *
 * bare OBJECT INTERFACE FRAME_IN_HEX BATCH
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_A_CALL 1000000000
#define LONGEST_FRAME 2048

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
	uint8_t frame[LONGEST_FRAME];
	uint32_t interface;
	size_t length;

	if (count != 5 || !(interface = if_nametoindex(words[2])) || (length = strlen(words[3]) / 2) > LONGEST_FRAME) {
		fputs("bare: OBJECT INTERFACE FRAME_IN_HEX BATCH\n", stderr);
		return 1;
	}
	for (size_t i = 0; i < length; i++) {
		unsigned byte = 0;

		sscanf(words[3] + 2 * i, "%2x", &byte);
		frame[i] = (uint8_t)byte;
	}
	struct bpf_object *object = need(bpf_object__open_file(words[1], NULL), "bare: open the program");
	struct bpf_map *constants = need(bpf_object__find_map_by_name(object, ".rodata"), "bare: find its constants");

	if (bpf_map__set_initial_value(constants, &interface, sizeof(interface)) || bpf_object__load(object)) {
		perror("bare: load the program");
		return 1;
	}
	struct bpf_program *program = need(bpf_object__next_program(object, NULL), "bare: find the program");
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame, .data_size_in = (uint32_t)length,
		    .repeat = FRAMES_A_CALL, .flags = BPF_F_TEST_XDP_LIVE_FRAMES,
		    .batch_size = (uint32_t)atoi(words[4]));

	while (!bpf_prog_test_run_opts(bpf_program__fd(program), &options) || errno == EINTR)
		;
	perror("bare: send");
	return 1;
}
