/* SPDX-License-Identifier: MIT */
#include "channel/own_initrd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "channel/artifact_run.h"
#include "channel/hasher.h"
#include "channel/program.h"
#include "store/cache.h"

static bool has_modules(const char *kernel)
{
	autofree char *path = NULL;

	if (asprintf(&path, "%s.modules", kernel) < 0)
		path = NULL;
	return !path || access(path, F_OK) == 0;
}

static char *make_in_cache(const char *init, const char *digest, enum architecture architecture,
			   struct error *err)
{
	const char *const words[] = {
		"initrd", "--init", init, "--arch", architecture_name(architecture), NULL};
	const struct artifact_wait wait = {0};

	return artifact_run(words, &wait, NULL, err) < 0 ? NULL : cache_initrd_find(digest, err);
}

static char *find_or_make(enum architecture architecture, struct error *err)
{
	autofree char *init = program_find(cache_init_program(architecture), err);
	autoclose int fd = init ? open(init, O_RDONLY | O_CLOEXEC) : -1;
	struct error why = {0};
	char digest[DIGEST_TEXT];
	char *path;

	if (!init)
		return NULL;
	if (fd < 0) {
		error_errno(err, errno, "%s", init);
		return NULL;
	}
	if (digest_of(fd, DIGEST_FILE, digest, err) < 0) {
		error_prefix(err, "%s", init);
		return NULL;
	}
	path = cache_initrd_find(digest, &why);
	if (path || why.code == ERR_NOT_FOUND)
		return path ? path : make_in_cache(init, digest, architecture, err);
	error_copy(err, &why);
	return NULL;
}

char *own_initrd(const char *kernel, enum architecture architecture, struct error *err)
{
	struct error why = {0};
	char *path = NULL;

	if (has_modules(kernel))
		error_set(&why, ERR_NOT_FOUND, "without its modules, %s.modules, it would not boot",
			  kernel);
	else
		path = find_or_make(architecture, &why);
	if (path)
		return path;
	error_prefix(&why,
		     "%s has no initrd beside it, which carries the guest's init, and none can be "
		     "made for it",
		     kernel);
	why.errnum = 0; /* what is missing is not a file of the caller's */
	if (why.code == ERR_NOT_FOUND)
		error_reason(&why, REASON_NO_INITRD, kernel);
	error_copy(err, &why);
	return NULL;
}
