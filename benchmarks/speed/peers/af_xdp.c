/* A neutral AF_XDP sender in copy mode: one frame, again and again, as fast as it goes or at a rate.
 *
 * It is the line that keisoku is compared with, so it does what such a sender must and no more: UMEM filled
 * once, descriptors in batches, one system call a batch. It never stamps, numbers or receives.
 *
 * af_xdp INTERFACE FRAME_IN_HEX SECONDS [FRAMES_PER_SECOND]     (prints "FRAMES SECONDS")
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Newer than the headers of many distributions; a kernel without it refuses, and sends 32 a call. */
#ifndef XDP_MAX_TX_SKB_BUDGET
#define XDP_MAX_TX_SKB_BUDGET 9
#endif

#define BATCH 64
#define CHUNK_BYTES 2048
#define CHUNKS 4096
#define RING CHUNKS
/* Send buffer: every chunk may be on its way at the same time. */
#define SEND_BUFFER_BYTES (CHUNKS * 2048)

#define PATIENCE_MS 1000

struct ring {
	uint32_t *producer, *consumer;
	void *entries;
};

static void fail(const char *what)
{
	fprintf(stderr, "af_xdp: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void set(int socket, int option, uint32_t value, const char *what)
{
	if (setsockopt(socket, SOL_XDP, option, &value, sizeof(value)))
		fail(what);
}

static struct ring map(int socket, off_t page, const struct xdp_ring_offset *offset, size_t entry_bytes)
{
	char *at = mmap(NULL, offset->desc + RING * entry_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			socket, page);

	if (at == MAP_FAILED)
		fail("map a ring");
	return (struct ring){ (uint32_t *)(at + offset->producer), (uint32_t *)(at + offset->consumer),
			      at + offset->desc };
}

static size_t parse(const char *hex, uint8_t *frame)
{
	size_t length = strlen(hex) / 2;
	unsigned byte;

	if (!length || length > CHUNK_BYTES)
		length = 0;
	for (size_t i = 0; i < length; i++) {
		if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
			length = 0;
		frame[i] = (uint8_t)byte;
	}
	if (!length) {
		errno = EINVAL;
		fail("read the frame");
	}
	return length;
}

static int open_socket(const char *interface, uint8_t *umem)
{
	struct xdp_umem_reg memory = { .addr = (uint64_t)(uintptr_t)umem, .len = (uint64_t)CHUNKS * CHUNK_BYTES,
				       .chunk_size = CHUNK_BYTES };
	struct sockaddr_xdp address = { .sxdp_family = AF_XDP, .sxdp_flags = XDP_COPY | XDP_USE_NEED_WAKEUP,
					.sxdp_ifindex = if_nametoindex(interface) };
	uint32_t batch = BATCH;
	int send_buffer = SEND_BUFFER_BYTES;
	int descriptor = socket(AF_XDP, SOCK_RAW, 0);

	if (descriptor < 0)
		fail("open an AF_XDP socket");
	if (setsockopt(descriptor, SOL_XDP, XDP_UMEM_REG, &memory, sizeof(memory)))
		fail("register memory");
	set(descriptor, XDP_UMEM_FILL_RING, 64, "make the fill ring");
	set(descriptor, XDP_UMEM_COMPLETION_RING, RING, "make the completion ring");
	set(descriptor, XDP_TX_RING, RING, "make the transmit ring");
	(void)setsockopt(descriptor, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &batch, sizeof(batch));
	(void)setsockopt(descriptor, SOL_SOCKET, SO_SNDBUFFORCE, &send_buffer, sizeof(send_buffer));
	/* The kernel lets go of the socket of a run before only some ms after its end. */
	for (int tries = 0; bind(descriptor, (struct sockaddr *)&address, sizeof(address)); tries++) {
		if (errno != EBUSY || tries == PATIENCE_MS)
			fail("bind to the interface");
		usleep(1000);
	}
	return descriptor;
}

int main(int count, char **words)
{
	static uint8_t frame[CHUNK_BYTES];
	static uint64_t spare[CHUNKS];
	struct xdp_mmap_offsets offsets;
	socklen_t size = sizeof(offsets);
	uint32_t spares = CHUNKS;

	if (count < 4) {
		errno = EINVAL;
		fail("INTERFACE FRAME_IN_HEX SECONDS [FRAMES_PER_SECOND]");
	}
	size_t length = parse(words[2], frame);
	uint64_t run_ns = (uint64_t)(atof(words[3]) * 1e9);
	double period_ns = count > 4 ? 1e9 / atof(words[4]) : 0;
	uint8_t *umem = mmap(NULL, (size_t)CHUNKS * CHUNK_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (umem == MAP_FAILED)
		fail("take memory");
	for (uint32_t i = 0; i < CHUNKS; i++) {
		spare[i] = (uint64_t)i * CHUNK_BYTES;
		memcpy(umem + spare[i], frame, length);
	}
	int socket = open_socket(words[1], umem);

	if (getsockopt(socket, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &size))
		fail("ask for the rings' layout");
	struct ring transmit = map(socket, XDP_PGOFF_TX_RING, &offsets.tx, sizeof(struct xdp_desc));
	struct ring done = map(socket, XDP_UMEM_PGOFF_COMPLETION_RING, &offsets.cr, sizeof(uint64_t));
	struct xdp_desc *descriptors = transmit.entries;
	uint64_t *finished = done.entries;
	uint32_t produced = *transmit.producer, reaped = *done.consumer;
	uint64_t frames = 0, start_ns = now_ns(), at_ns = start_ns;

	while ((at_ns = now_ns()) - start_ns < run_ns) {
		uint32_t returned = __atomic_load_n(done.producer, __ATOMIC_ACQUIRE);

		while (reaped != returned)
			spare[spares++] = finished[reaped++ & (RING - 1)];
		__atomic_store_n(done.consumer, reaped, __ATOMIC_RELEASE);

		uint32_t pending = produced - __atomic_load_n(transmit.consumer, __ATOMIC_ACQUIRE);
		uint64_t due = BATCH;
		if (period_ns > 0) {
			uint64_t wanted = (uint64_t)((double)(at_ns - start_ns) / period_ns) + 1;
			due = wanted > frames ? wanted - frames : 0;
		}
		/* What the kernel has not taken yet is offered again before anything is added. */
		uint32_t room = pending < BATCH ? BATCH - pending : 0;
		uint32_t batch = due < room ? (uint32_t)due : room;
		if (batch > spares)
			batch = spares;
		for (uint32_t i = 0; i < batch; i++)
			descriptors[produced++ & (RING - 1)] =
				(struct xdp_desc){ .addr = spare[--spares], .len = (uint32_t)length };
		frames += batch;
		__atomic_store_n(transmit.producer, produced, __ATOMIC_RELEASE);
		/* In copy mode the kernel sends inside this call only, so it always needs waking. */
		if (batch + pending && sendto(socket, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 && errno != EAGAIN &&
		    errno != EBUSY && errno != ENOBUFS)
			fail("send");
	}
	frames -= produced - __atomic_load_n(transmit.consumer, __ATOMIC_ACQUIRE);
	printf("%llu %.6f\n", (unsigned long long)frames, (double)(at_ns - start_ns) / 1e9);
	return 0;
}
