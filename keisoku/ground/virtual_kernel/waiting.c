/* ppoll() for programs in a virtual kernel. FRR rounds the time until its next timer down to whole milliseconds and asks
 * again and again in the last one, where each reading of the clock moves it on by 256 ns only: thousands of calls. A
 * question that would not wait waits for as long as LEAST_NS here, or until there is an answer. */
#define _GNU_SOURCE
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LEAST_NS 20000

static int waited(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
	struct timespec least = {0, LEAST_NS};
	if (timeout && timeout->tv_sec == 0 && timeout->tv_nsec < LEAST_NS)
		timeout = &least;
	else if (timeout) { /* the kernel writes to it */
		least = *timeout;
		timeout = &least;
	}
	return (int)syscall(SYS_ppoll, files, count, timeout, mask, _NSIG / 8);
}

int ppoll(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
	return waited(files, count, timeout, mask);
}

int __ppoll_chk(struct pollfd *files, nfds_t count, const struct timespec *timeout, const sigset_t *mask, size_t room)
{
	(void)room;
	return waited(files, count, timeout, mask);
}
