/* SPDX-License-Identifier: MIT */
#include "channel/guest_init.h"

#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"
#include "channel/hasher.h"
#include "channel/program.h"

bool guest_init_differs(const struct cache_kernel *kernel)
{
	struct error ignored;
	autofree char *path = program_find(cache_init_program(kernel->architecture), &ignored);
	autoclose int fd = -1;
	char digest[DIGEST_TEXT];

	if (!path || !kernel->cached || !kernel->initrd || !*kernel->init_sha256)
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || digest_of(fd, DIGEST_FILE, digest, &ignored) < 0)
		return false;
	return strcmp(digest, kernel->init_sha256) != 0;
}
