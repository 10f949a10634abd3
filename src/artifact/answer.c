/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "artifact/progress.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/print_safe.h"
#include "store/cache.h"

int artifact_architecture(const struct artifact_options *opts, enum architecture otherwise,
			  enum architecture *out, struct error *err)
{
	enum architecture given = opts->arch ? architecture_from_word(opts->arch) : otherwise;

	if (opts->arch && given == ARCHITECTURE_COUNT)
		return error_set(
			err, ERR_INVALID,
			"--arch must be amd64 (or x86_64) or arm64 (or aarch64), and is \"%.40s\"",
			opts->arch);
	*out = given;
	return 0;
}

char *artifact_init_path(const struct artifact_options *opts, enum architecture architecture,
			 struct error *err)
{
	autofree char *dir = opts->init ? NULL : path_of_executable_dir(err);
	autofree char *path = NULL;

	if (opts->init)
		return path_absolute(opts->init, err);
	path = dir ? path_join(dir, cache_init_program(architecture), err) : NULL;
	if (!path || access(path, R_OK) == 0)
		return steal_ptr(&path);
	/* `make` builds microagent-init only for the architecture of this host. For another
	 * architecture, the user must run `make` with the target that the message names. */
	if (architecture == architecture_of_host())
		error_errno(err, errno, "%s: build it with `make`", path);
	else
		error_set(
			err, ERR_UNAVAILABLE,
			"%s is missing, and machines for %s need it to boot: `make %s-init` in the sources makes it, with the package gcc-aarch64-linux-gnu",
			path, architecture_name(architecture), architecture_name(architecture));
	return NULL;
}

static int descriptor_of(const char *option, const char *value, struct error *err)
{
	char *end;
	long fd = strtol(value, &end, 10);

	if (*end || end == value || fd < 0 || fd > 65535)
		return error_set(err, ERR_INVALID,
				 "%s must be the number of an open descriptor, and is \"%s\"",
				 option, value);
	return (int)fd;
}

int artifact_fd(const struct artifact_options *opts, struct error *err)
{
	return descriptor_of("--fd", opts->fd, err);
}

int artifact_open_from(const struct artifact_options *opts, struct error *err)
{
	int fd;

	if (!opts->from_fd)
		return path_open_file(opts->from, err);
	fd = descriptor_of("--from-fd", opts->from_fd, err);
	/* The caller has read the file to its end to compute its digest, so the descriptor's
	 * position is moved back to the beginning. */
	if (fd >= 0 && lseek(fd, 0, SEEK_SET) < 0)
		return error_errno(err, errno, "%s", opts->from);
	return fd;
}

int artifact_answer(const struct artifact_options *opts, const json_t *object, struct error *err,
		    const char *fmt, ...)
{
	autofree char *text = NULL;
	va_list args;
	int n;

	progress_clear();
	if (opts->json) {
		text = json_line(object, err);
	} else {
		va_start(args, fmt);
		n = vasprintf(&text, fmt, args);
		va_end(args);
		if (n < 0)
			return error_errno(err, ENOMEM, "answer");
	}
	if (!text)
		return -1;
	/* The text may contain strings from an image or from the image's record. Control bytes in
	 * such a string could change the terminal, so print_safe() replaces them. JSON needs no
	 * replacement, because there control bytes are escaped. */
	print_safe(stdout, text);
	if (putchar('\n') < 0 || fflush(stdout) != 0 || ferror(stdout))
		return error_errno(err, errno, "standard output");
	return 0;
}
