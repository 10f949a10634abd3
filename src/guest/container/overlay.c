/* SPDX-License-Identifier: MIT */
/* Mounts a root file system whose changes stay in the machine's memory. The root file system is an
 * overlayfs, and its lower directory is the root that the host shares. */
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "guest/container/place.h"
#include "guest/container/setup.h"

/* The smallest size of the tmpfs in bytes. A size of 0 would mean that there is no limit. */
#define BYTES_LEAST (UINT64_C(1) << 20)
/* How many bytes of the tmpfs there are for each inode, as in the kernel's own default. */
#define BYTES_OF_INODE 4096

/* Returns the size in bytes of the tmpfs for the upper directory. The size is half of the
 * container's memory limit, since written files count as memory of the container. If there is no
 * such limit, the size is half of the machine's memory. */
static uint64_t upper_bytes(const struct contained_plan *plan)
{
	uint64_t limit = strtoull(json_text(plan->cgroup, "memory.max", ""), NULL, 10);
	struct sysinfo machine;
	uint64_t bytes = 0;

	if (sysinfo(&machine) == 0)
		bytes = (uint64_t)machine.totalram * machine.mem_unit;
	if (limit > 0 && limit < bytes)
		bytes = limit;
	return bytes / 2 > BYTES_LEAST ? bytes / 2 : BYTES_LEAST;
}

int overlay_lay(const struct contained_plan *plan, int lower, struct error *err)
{
	uint64_t bytes = upper_bytes(plan);
	char name[PLACE_NAME], data[128];
	struct stat st;

	snprintf(data, sizeof(data), "mode=0700,size=%" PRIu64 ",nr_inodes=%" PRIu64, bytes,
		 bytes / BYTES_OF_INODE);
	/* The upper directory gets the owner and mode of the lower directory, since overlayfs shows
	 * those of the upper directory. */
	if (mount("tmpfs", plan->root, "tmpfs", 0, data) < 0 || chdir(plan->root) < 0 ||
	    fstat(lower, &st) < 0 || mkdir("work", 0700) < 0 || mkdir("upper", 0700) < 0 ||
	    chown("upper", st.st_uid, st.st_gid) < 0 || chmod("upper", st.st_mode & 07777) < 0)
		return error_errno(err, errno, "memory for the root of the container");
	/* The names in the options contain no character that needs an escape. The tmpfs hides the
	 * path of the lower directory, so the option names the lower directory by its file
	 * descriptor. With redirect_dir the container can rename a directory of the lower
	 * directory, as it could without the overlay. */
	place_name(lower, name);
	snprintf(data, sizeof(data), "lowerdir=%s,upperdir=upper,workdir=work,redirect_dir=on",
		 name);
	return mount("overlay", plan->root, "overlay", 0, data) == 0
		       ? 0
		       : error_errno(err, errno, "overlay on the root of the container");
}
