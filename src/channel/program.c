/* SPDX-License-Identifier: MIT */
#include "channel/program.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/platform/process.h"
#include "base/program.h"

/* Returns the directory of the shared library that contains this code. Returns NULL if the running
 * program itself contains this code: the program's directory is searched in any case. */
static char *library_dir(void)
{
	static const char here;
	autofree char *library = NULL, *executable = NULL;
	char own[PATH_MAX];
	Dl_info info = {0};
	const char *slash;

	if (dladdr(&here, &info) == 0 || !info.dli_fname || info.dli_fname[0] != '/')
		return NULL;
	library = realpath(info.dli_fname, NULL);
	executable = process_own_program(own) < 0 ? NULL : realpath(own, NULL);
	if (!library || !executable || strcmp(library, executable) == 0)
		return NULL;
	slash = strrchr(library, '/');
	return slash ? strndup(library, slash == library ? 1 : (size_t)(slash - library)) : NULL;
}

/* Returns the path of the program in `dir`; NULL if the program is not there. */
static char *in_dir(const char *dir, const char *program)
{
	autofree char *path = dir ? path_join(dir, program, NULL) : NULL;

	return path && access(path, X_OK) == 0 ? steal_ptr(&path) : NULL;
}

char *program_find(const char *program, struct error *err)
{
	/* The paths to <prefix>/bin, relative to the directory of the library: from <prefix>/lib,
	 * and from <prefix>/lib/<architecture>. */
	static const char *const bins[] = {"../bin", "../../bin"};
	autofree char *library = library_dir();
	autofree char *beside = path_of_executable_dir(NULL);
	char *path = NULL;

	/* The programs of the library's own version come first. The running program may be
	 * /usr/bin/python3, which may have programs of another version beside it. */
	for (size_t i = 0; library && !path && i < ARRAY_SIZE(bins); i++) {
		autofree char *bin = path_join(library, bins[i], NULL);

		path = in_dir(bin, program);
	}
	if (!path)
		path = in_dir(beside, program);
	if (!path)
		path = program_in_path(program);
	if (!path)
		error_set(err, ERR_NOT_FOUND,
			  "%s is neither beside microagent nor in PATH: install microagent again",
			  program);
	return path;
}
