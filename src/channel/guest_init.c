/* SPDX-License-Identifier: MIT */
#include "channel/guest_init.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "channel/hasher.h"
#include "channel/program.h"

enum guest_init guest_init_compare(const struct cache_kernel *kernel, struct error *why)
{
	autofree char *path = NULL;
	autoclose int fd = -1;
	char digest[DIGEST_TEXT];

	if (!kernel->cached || !kernel->initrd || !*kernel->init_sha256) {
		error_set(
			why, ERR_NOT_FOUND,
			"it is not known which guest agent the initrd of %s has, because the cache has no record of it: install the kernel again",
			kernel->name);
		return GUEST_INIT_UNKNOWN;
	}
	/* Finds the microagent-init that a new initrd for this kernel would get. */
	path = program_find(cache_init_program(kernel->architecture), why);
	if (!path)
		return GUEST_INIT_UNKNOWN;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		error_errno(why, errno, "%s", path);
		return GUEST_INIT_UNKNOWN;
	}
	if (digest_of(fd, DIGEST_FILE, digest, why) < 0)
		return GUEST_INIT_UNKNOWN;
	return strcmp(digest, kernel->init_sha256) == 0 ? GUEST_INIT_SAME : GUEST_INIT_OTHER;
}
