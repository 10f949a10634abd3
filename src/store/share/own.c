/* SPDX-License-Identifier: MIT */
/*
 * What is microagent's own. In a state directory or a cache a guest would be its own supervisor, or
 * that of the next one: refused in any mode. Where the programs are that run now it must not write.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "store/cache.h"
#include "store/own_dirs.h"
#include "store/share/host_system.h"
#include "store/share/parts.h"

/* The deepest part of path that is there; path is cut. */
static void cut_to_existing(char *path)
{
	struct stat st;

	while (stat(path, &st) < 0 && strrchr(path, '/') > path)
		*strrchr(path, '/') = '\0';
	if (stat(path, &st) < 0 && *path)
		path[1] = '\0';
}

static int refuse_within(const struct judge *judge, const char *what, const char *dir,
			 struct error *err)
{
	return error_set(err, ERR_INVALID, "%s is in the %s %s: share a directory elsewhere",
			 judge->wish->path, what, dir);
}

/* One that is there. what: "state directory". */
static int apply_own(const struct judge *judge, const char *dir, const char *what,
		     struct error *err)
{
	auto_spot struct spot own = SPOT_NONE;
	int found = spot_find(dir, judge->mounts, &own, err);
	const struct mount_row *row;

	if (found <= 0)
		return found;
	if (spot_is_reached(judge->spot, &own, REACH_BELOW))
		return refuse_within(judge, what, dir, err);
	if (spot_is_reached(judge->spot, &own, REACH_ABOVE))
		return error_set(err, ERR_INVALID, "%s holds the %s %s: " SHARE_NEXT_STEP,
				 judge->wish->path, what, dir);
	row = spot_mounted_below(judge->spot, judge->mounts, &own, REACH_BELOW);
	if (!row)
		return 0;
	return error_set(err, ERR_INVALID,
			 "%s has the %s %s mounted in it, on %s: unmount that or share another "
			 "directory",
			 judge->wish->path, what, dir, row->point);
}

/* One that will be made: whoever has the place has what comes there. */
static int apply_to_be(const struct judge *judge, const char *dir, const char *what,
		       struct error *err)
{
	auto_spot struct spot own = SPOT_NONE;
	autofree char *there = dir ? strdup(dir) : NULL;
	int found;

	if (!there)
		return 0;
	cut_to_existing(there);
	found = strcmp(there, dir) == 0 ? 0 : spot_find(there, judge->mounts, &own, err);
	if (found <= 0)
		return found;
	if (!spot_is(judge->spot, &own) && !spot_holds(judge->spot, &own))
		return 0;
	return error_set(err, ERR_INVALID, "%s holds the %s %s: " SHARE_NEXT_STEP,
			 judge->wish->path, what, dir);
}

static int apply_known(void *data, const char *dir, const char *what, struct error *err)
{
	const struct judge *const *judge = data;

	return apply_own(*judge, dir, what, err);
}

static int apply_directories(const struct judge *judge, struct error *err)
{
	const char *state = judge->wish->state_dir;
	autofree char *cache = cache_dir(NULL);
	enum own_dir kind = OWN_STATE;
	autofree char *above = own_dir_above(judge->spot->fd, &kind);

	if (above)
		return refuse_within(judge, own_dir_name(kind), above, err);
	if (apply_own(judge, state, own_dir_name(OWN_STATE), err) < 0 ||
	    apply_to_be(judge, state, own_dir_name(OWN_STATE), err) < 0 ||
	    apply_to_be(judge, cache, own_dir_name(OWN_CACHE), err) < 0)
		return -1;
	return own_dir_each(apply_known, &judge, err);
}

/* --- programs -------------------------------------------------------------------------------- */

static const char is_run[] = "which microagent itself runs";

static bool is_directory_or_hidden(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? S_ISDIR(st.st_mode) : errno == ENOENT;
}

/* A mount below spot of a single file that lies in the directory itself; NULL. */
static const struct mount_row *file_mounted_below(const struct spot *spot,
						  const struct mountinfo *mounts,
						  const struct spot *directory)
{
	const struct mount_row *row;
	size_t at = 0, len = strcmp(directory->inner, "/") == 0 ? 0 : strlen(directory->inner);

	while ((row = spot_next_below(spot, mounts, &at)))
		if (row->device == directory->device &&
		    strncmp(row->root, directory->inner, len) == 0 && row->root[len] == '/' &&
		    !strchr(row->root + len + 1, '/') && !is_directory_or_hidden(row->point))
			return row;
	return NULL;
}

/* why: "which microagent itself runs", of the program there or of the directory. */
static int apply_program_dir(const struct judge *judge, const char *dir, const char *program,
			     const char *why, struct error *err)
{
	static const char way_out[] = "share it read-only (mode \"ro\"), or another directory";
	auto_spot struct spot place = SPOT_NONE;
	int found = spot_find(dir, judge->mounts, &place, err);
	const struct mount_row *row;

	if (found <= 0)
		return found;
	if (spot_is(judge->spot, &place) || spot_holds(judge->spot, &place))
		return error_set(err, ERR_INVALID, "%s holds %s, %s: %s", judge->wish->path,
				 program, why, way_out);
	row = spot_mounted_below(judge->spot, judge->mounts, &place, REACH_ABOVE);
	if (row)
		return error_set(err, ERR_INVALID, "%s has %s, %s, mounted in it, on %s: %s",
				 judge->wish->path, program, why, row->point, way_out);
	row = file_mounted_below(judge->spot, judge->mounts, &place);
	if (!row)
		return 0;
	return error_set(err, ERR_INVALID,
			 "%s has a file of %s, where programs are, mounted in it, on %s: %s",
			 judge->wish->path, dir, row->point, way_out);
}

/* The directory that its name is in, and the one that it is in. */
static int apply_program(const struct judge *judge, const char *program, struct error *err)
{
	autofree char *real = realpath(program, NULL);
	const char *const names[] = {program, real};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		autofree char *dir = names[i] ? strdup(names[i]) : NULL;
		char *slash = dir ? strrchr(dir, '/') : NULL;

		if (!slash)
			continue;
		slash[slash == dir] = '\0';
		if (apply_program_dir(judge, dir, program, is_run, err) < 0)
			return -1;
	}
	return 0;
}

/* Whoever writes there, or makes it, has the next program that is looked for: ours, or another of
 * the user's. */
static int apply_search_path(const struct judge *judge, struct error *err)
{
	static const char why[] = "where programs are looked for (PATH)";
	const char *list = getenv("PATH");
	autofree char *all = strdup(list ? list : "");
	char *rest = all;

	if (!all)
		return error_errno(err, ENOMEM, "PATH");
	for (char *dir = strsep(&rest, ":"); dir; dir = strsep(&rest, ":")) {
		autofree char *there = *dir == '/' ? strdup(dir) : NULL;

		if (*dir != '/')
			continue;
		if (!there)
			return error_errno(err, ENOMEM, "PATH");
		cut_to_existing(there);
		if (apply_program_dir(judge, there, dir, why, err) < 0)
			return -1;
	}
	return 0;
}

static int apply_loaded(void *data, const char *path, struct error *err)
{
	const struct judge *const *judge = data;

	return apply_program(*judge, path, err);
}

static int apply_programs(const struct judge *judge, struct error *err)
{
	autofree char *dir = path_of_executable_dir(err);
	autofree char *libraries = dir ? path_join(dir, "../lib", err) : NULL;
	const json_t *program;
	size_t i;

	if (!libraries || apply_program_dir(judge, dir, dir, is_run, err) < 0 ||
	    apply_program_dir(judge, libraries, libraries, is_run, err) < 0 ||
	    share_each_loaded(apply_loaded, &judge, err) < 0 || apply_search_path(judge, err) < 0)
		return -1;
	json_array_foreach(judge->wish->programs, i, program)
	{
		if (apply_program(judge, json_string_value(program), err) < 0)
			return -1;
	}
	return 0;
}

int share_rules_own(const struct judge *judge, struct error *err)
{
	if (apply_directories(judge, err) < 0)
		return -1;
	return judge->wish->read_only ? 0 : apply_programs(judge, err);
}
