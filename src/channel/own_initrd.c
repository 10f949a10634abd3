/* SPDX-License-Identifier: MIT */
#include "channel/own_initrd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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

static int look(struct own_initrd *own, enum architecture architecture, struct error *err)
{
	unsigned char head[KERNEL_HEAD];
	struct error why = {0};
	autoclose int fd = -1;
	ssize_t n;

	own->init = program_find(cache_init_program(architecture), err);
	if (!own->init)
		return -1;
	fd = open(own->init, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, errno, "%s", own->init);
	if (digest_of(fd, DIGEST_FILE, own->init_sha256, err) < 0)
		return error_prefix(err, "%s", own->init);
	n = pread(fd, head, sizeof(head), 0);
	if (n < 0)
		return error_errno(err, errno, "%s", own->init);
	if (architecture_of_program(head, (size_t)n) != architecture)
		return error_set(
			err, ERR_INVALID,
			"%s is not a program for %s, so no initrd can be made of it: install microagent again",
			own->init, architecture_name(architecture));
	own->path = cache_initrd_find(own->init_sha256, &why);
	return own->path || why.code == ERR_NOT_FOUND ? 0 : error_copy(err, &why);
}

static int explain(const char *kernel, struct error *why, struct error *err)
{
	error_prefix(why,
		     "the kernel %s has no initrd beside it, and microagent cannot make one for it",
		     kernel);
	why->errnum = 0; /* the errno is about a file that the caller has not named */
	if (why->code == ERR_NOT_FOUND)
		error_reason(why, REASON_NO_INITRD, kernel);
	return error_copy(err, why);
}

static int find(const char *kernel, enum architecture architecture, bool make,
		struct own_initrd *out, struct error *err)
{
	struct own_initrd own = {0};
	int status = -1;

	if (has_modules(kernel))
		error_set(err, ERR_NOT_FOUND,
			  "an initrd without the modules in %s.modules would not boot the kernel",
			  kernel);
	else
		status = look(&own, architecture, err);
	if (status == 0 && make && !own.path) {
		const char *const words[] = {
			"initrd", "--init", own.init, "--arch", architecture_name(architecture),
			NULL};
		const struct artifact_wait wait = {0};

		status = artifact_run(words, &wait, NULL, err);
		if (status == 0)
			own.path = cache_initrd_find(own.init_sha256, err);
		status = own.path ? 0 : -1;
	}
	if (status == 0)
		*out = own;
	else
		own_initrd_free(&own);
	return status;
}

int own_initrd_find(const char *kernel, enum architecture architecture, struct own_initrd *out,
		    struct error *err)
{
	struct error why = {0};

	return find(kernel, architecture, false, out, &why) == 0 ? 0 : explain(kernel, &why, err);
}

char *own_initrd(const char *kernel, enum architecture architecture, struct error *err)
{
	struct own_initrd own = {0};
	struct error why = {0};
	char *path;

	if (find(kernel, architecture, true, &own, &why) < 0) {
		explain(kernel, &why, err);
		return NULL;
	}
	path = own.path;
	own.path = NULL;
	own_initrd_free(&own);
	return path;
}

void own_initrd_free(struct own_initrd *own)
{
	free(own->path);
	free(own->init);
	*own = (struct own_initrd){0};
}
