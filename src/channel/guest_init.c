/* SPDX-License-Identifier: MIT */
#include "channel/guest_init.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "channel/hasher.h"
#include "channel/program.h"

/* The digest of the microagent-init that is put into the kernel's initrd. */
static int present_init(const struct cache_kernel *kernel, char digest[DIGEST_TEXT],
			struct error *err)
{
	autofree char *path = program_find(cache_init_program(kernel->architecture), err);
	autoclose int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (!path)
		return -1;
	return fd < 0 ? error_errno(err, errno, "%s", path)
		      : digest_of(fd, DIGEST_FILE, digest, err);
}

enum guest_init guest_init_compare(const struct cache_kernel *kernel, struct error *why)
{
	char digest[DIGEST_TEXT];

	if (!kernel->cached || !kernel->initrd || !*kernel->init_sha256) {
		error_set(why, ERR_NOT_FOUND, "what is in the initrd of %s is not recorded",
			  kernel->name);
		return GUEST_INIT_UNKNOWN;
	}
	if (present_init(kernel, digest, why) < 0)
		return GUEST_INIT_UNKNOWN;
	return strcmp(digest, kernel->init_sha256) == 0 ? GUEST_INIT_SAME : GUEST_INIT_OTHER;
}
