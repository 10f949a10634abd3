/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <stdatomic.h>
#include <time.h>

#include "base/platform/system.h"

static _Atomic bool virtual_on;
static _Atomic uint64_t virtual_ns;

uint64_t clock_mono_ns(void)
{
	if (atomic_load(&virtual_on))
		return atomic_load(&virtual_ns);
	return system_awake_ns();
}

uint64_t clock_boot_ns(void)
{
	return system_boot_ns();
}

int64_t clock_real_ns(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_REALTIME, &t); /* cannot fail */
	return (int64_t)t.tv_sec * (int64_t)NS_PER_S + t.tv_nsec;
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
