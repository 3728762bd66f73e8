/* getrandom() for the process of a virtual kernel: numbers from a seed, so that a seed is a run that can be repeated.
 * SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). The kernel makes all of its randomness of this one call. */
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

ssize_t getrandom(void *buffer, size_t length, unsigned int flags)
{
	static unsigned long long state;
	static int begun;
	size_t done = 0;
	(void)flags;
	if (!begun) {
		const char *seed = getenv("KEISOKU_VIRTUAL_SEED");
		state = seed ? strtoull(seed, NULL, 10) : 0;
		begun = 1;
	}
	while (done < length) {
		unsigned long long word = state += 0x9e3779b97f4a7c15ull;
		size_t part = length - done < sizeof word ? length - done : sizeof word;
		word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ull;
		word = (word ^ word >> 27) * 0x94d049bb133111ebull;
		word ^= word >> 31;
		memcpy((char *)buffer + done, &word, part);
		done += part;
	}
	return (ssize_t)length;
}
