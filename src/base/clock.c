/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <stdatomic.h>
#include <time.h>

static _Atomic bool virtual_on;
static _Atomic uint64_t virtual_ns;

static int64_t read_clock(clockid_t which)
{
	struct timespec t = {0};

	clock_gettime(which, &t); /* cannot fail for these three */
	return (int64_t)t.tv_sec * (int64_t)NS_PER_S + t.tv_nsec;
}

uint64_t clock_mono_ns(void)
{
	if (atomic_load(&virtual_on))
		return atomic_load(&virtual_ns);
	return (uint64_t)read_clock(CLOCK_MONOTONIC);
}

uint64_t clock_boot_ns(void)
{
	return (uint64_t)read_clock(CLOCK_BOOTTIME);
}

int64_t clock_real_ns(void)
{
	return read_clock(CLOCK_REALTIME);
}

void clock_set_virtual(uint64_t ns)
{
	atomic_store(&virtual_ns, ns);
	atomic_store(&virtual_on, true);
}

bool clock_is_virtual(void)
{
	return atomic_load(&virtual_on);
}
