/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "contract/request.h"

#define MIB (INT64_C(1) << 20)

struct host_bounds host_bounds(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return (struct host_bounds){
		.memory_mib = pages > 0 && page > 0 ? (int64_t)pages * page / MIB : 1024,
		.cpus = cpus > 0 ? cpus : 1,
	};
}
