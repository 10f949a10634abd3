/* SPDX-License-Identifier: MIT */
#include "backend/qemu/tsc.h"

#include <stddef.h>
#include <time.h>

#include "base/clock.h"

#ifdef __x86_64__
#include <x86intrin.h>

#define MEASURE_NS (20 * NS_PER_MS)
#define TRIES 16

struct moment {
	uint64_t ns, tsc;
};

static uint64_t raw_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

/* Reads the counter and the clock at one moment. An interruption between the two readings of the
 * counter would count as ticks. So the clock is read several times, and the result is the try that
 * took the least time. */
static struct moment read_moment(void)
{
	struct moment best = {0, 0};
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = __rdtsc(), ns = raw_ns(), after = __rdtsc();
		if (after - before < least) {
			least = after - before;
			best = (struct moment){.ns = ns, .tsc = before + least / 2};
		}
	}
	return best;
}

uint32_t tsc_measure_khz(void)
{
	struct moment first = read_moment();
	const struct timespec pause = {.tv_nsec = (long)MEASURE_NS};

	/* This sleep is the interval that is measured. The sleep does not wait for an event. */
	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	struct moment last = read_moment();
	uint64_t ns = last.ns - first.ns, ticks = last.tsc - first.tsc;
	if (ns == 0)
		return 0;
	uint64_t khz = (uint64_t)((__uint128_t)ticks * 1000000 / ns);
	return khz <= UINT32_MAX ? (uint32_t)khz : 0;
}

#else
uint32_t tsc_measure_khz(void)
{
	return 0;
}
#endif
