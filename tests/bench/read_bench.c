/* SPDX-License-Identifier: MIT */
/*
 * `read_bench FILE COUNT`: two numbers, the median microseconds of COUNT reads of 4 KiB, each of
 * another place in FILE, and of the same reads once more while it is open. `read_bench drop FILE`:
 * what the kernel keeps of FILE in memory goes.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return (one > other) - (one < other);
}

/* Returns microseconds; negative if a read failed. */
static double median_read(int fd, long pages, long count, double *took)
{
	static char page[PAGE];

	for (long i = 0; i < count; i++) {
		double began = now_us();

		/* An odd step meets each page once if their number is a power of two. */
		if (pread(fd, page, PAGE, (off_t)(i * 4097 % pages) * PAGE) != PAGE)
			return -1;
		took[i] = now_us() - began;
	}
	qsort(took, (size_t)count, sizeof(*took), by_size);
	return took[count / 2];
}

int main(int argc, char **argv)
{
	int drop = argc == 3 && strcmp(argv[1], "drop") == 0;
	int fd = argc == 3 ? open(argv[drop ? 2 : 1], O_RDONLY) : -1;
	double first, again, *took;
	struct stat st;
	long count;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 1;
	if (drop)
		return fsync(fd) < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0;
	posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	count = atol(argv[2]);
	took = calloc((size_t)count, sizeof(*took));
	if (!took || count < 1 || count > st.st_size / PAGE)
		return 1;
	first = median_read(fd, st.st_size / PAGE, count, took);
	again = median_read(fd, st.st_size / PAGE, count, took);
	printf("%.3f %.3f\n", first, again);
	return first < 0 || again < 0;
}
