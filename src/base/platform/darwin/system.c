/* SPDX-License-Identifier: MIT */
/* This file was compiled and linked for macOS, but never run there. */
#include "base/platform/system.h"

#include <errno.h>
#include <mach/mach.h>
#include <malloc/malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/sysctl.h>
#include <time.h>
#include <unistd.h>
#include <uuid/uuid.h>

const char *const system_name = "macOS";

int random_bytes(void *out, size_t len, struct error *err)
{
	if (getentropy(out, len) < 0)
		return error_errno(err, errno, "random number");
	return 0;
}

void memory_give_back(void)
{
	malloc_zone_pressure_relief(NULL, 0);
}

int memory_of_host(uint64_t *total, uint64_t *available, struct error *err)
{
	mach_msg_type_number_t count = HOST_VM_INFO64_COUNT;
	mach_port_t host = mach_host_self();
	vm_statistics64_data_t pages = {0};
	kern_return_t rc = host_statistics64(host, HOST_VM_INFO64, (host_info64_t)&pages, &count);
	size_t size = sizeof(*total);
	uint64_t all;

	mach_port_deallocate(mach_task_self(), host);
	if (rc != KERN_SUCCESS)
		return error_set(
			err, ERR_IO,
			"the memory of the host is not known, because macOS answers with the Mach error %d",
			rc);
	if (sysctlbyname("hw.memsize", &all, &size, NULL, 0) < 0)
		return error_errno(err, errno, "hw.memsize");
	*total = all;
	/* Inactive memory counts as available, because macOS reuses it before it swaps. */
	*available = ((uint64_t)pages.free_count + pages.inactive_count + pages.purgeable_count) *
		     (uint64_t)getpagesize();
	return 0;
}

const char *system_error_text(int errnum)
{
	static _Thread_local char text[128];

	return strerror_r(errnum, text, sizeof(text)) == 0 ? text : NULL;
}

const char *system_getenv(const char *name)
{
	return issetugid() ? NULL : getenv(name);
}

/* Reads CLOCK_UPTIME_RAW, which stands still while the host sleeps. CLOCK_MONOTONIC_RAW would go on
 * (clock_gettime_nsec_np(3)). */
uint64_t system_awake_ns(void)
{
	return clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
}

uint64_t system_boot_ns(void)
{
	return clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW);
}

/* Stores the id that gethostuuid(2) returns. */
void system_host_id(char out[SYSTEM_HOST_ID])
{
	const struct timespec wait = {.tv_sec = 1};
	uuid_t id;

	*out = '\0';
	if (gethostuuid(id, &wait) == 0)
		uuid_unparse_lower(id, out);
}
