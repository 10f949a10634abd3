/* SPDX-License-Identifier: MIT */
#include "backend/parts/programs.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "base/program.h"

char *program_bwrap(struct error *err)
{
	char *found = program_in_path("bwrap");

	if (!found)
		error_set(err, ERR_UNAVAILABLE,
			  "bwrap is not installed: apt-get install bubblewrap");
	return found;
}

char *program_true(struct error *err)
{
	char *found = program_in_path("true");

	if (!found)
		error_set(
			err, ERR_NOT_FOUND,
			"the program true is not in PATH, and microagent tries with it whether cells work: install the package coreutils");
	return found;
}

char *program_newidmap(const char *name, struct error *err)
{
	char *found = program_in_path(name);

	if (!found)
		error_set(
			err, ERR_UNAVAILABLE,
			"%s is not installed, and shared directories need it: apt-get install uidmap",
			name);
	return found;
}

char *program_virtiofsd(struct error *err)
{
	/* The paths of virtiofsd in the distributions: in Debian 13 and Fedora, in Arch, and in
	 * Debian 12. */
	static const char *const places[] = {"/usr/libexec/virtiofsd", "/usr/lib/virtiofsd",
					     "/usr/lib/qemu/virtiofsd"};
	const char *named = getenv("MICROAGENT_VIRTIOFSD");

	if (named && *named) {
		if (program_is(named))
			return path_absolute(named, err);
		error_set(
			err, ERR_UNAVAILABLE,
			"%s, which the variable MICROAGENT_VIRTIOFSD names, is not a program that can be run: name virtiofsd's program, or unset the variable",
			named);
		return NULL;
	}
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (program_is(places[i]))
			return path_absolute(places[i], err);
	error_set(
		err, ERR_UNAVAILABLE,
		"virtiofsd is not installed, and shared directories need it: apt-get install virtiofsd (on Debian 12 qemu-system-common)");
	return NULL;
}

char *program_passt(struct error *err)
{
	char *found = program_in_path("passt");

	if (!found)
		error_set(
			err, ERR_UNAVAILABLE,
			"config.network.mode: nat needs passt, which is not installed: apt-get install passt (or use \"isolated\")");
	return found;
}

static char *own_program(const char *name, struct error *err)
{
	autofree char *dir = path_of_executable_dir(NULL);
	autofree char *beside = dir ? path_join(dir, name, NULL) : NULL;
	char *found =
		beside && program_is(beside) ? path_absolute(beside, NULL) : program_in_path(name);

	if (!found)
		error_set(err, ERR_UNAVAILABLE,
			  "%s is neither beside this program nor in PATH: install microagent again",
			  name);
	return found;
}

char *program_vsockd(struct error *err)
{
	return own_program("microagent-vsockd", err);
}

char *program_netgate(struct error *err)
{
	return own_program("microagent-netgate", err);
}

static char *newuidmap_here(struct error *err)
{
	return program_newidmap("newuidmap", err);
}

static char *newgidmap_here(struct error *err)
{
	return program_newidmap("newgidmap", err);
}

static void note_program(json_t *list, program_finder *find)
{
	autofree char *path = find(NULL);

	if (path)
		json_array_append_new(list, json_string_lossy(path, strlen(path)));
}

json_t *programs_here(program_finder *const *vmm)
{
	static program_finder *const finders[] = {
		program_bwrap,	 program_virtiofsd, program_passt,  program_vsockd,
		program_netgate, newuidmap_here,    newgidmap_here, program_true,
	};
	json_t *found = json_array();

	for (; *vmm; vmm++)
		note_program(found, *vmm);
	for (size_t i = 0; i < ARRAY_SIZE(finders); i++)
		note_program(found, finders[i]);
	return found;
}
