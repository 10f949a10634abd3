/* SPDX-License-Identifier: MIT */
/*
 * Refuses to share the directories that belong to microagent. A guest that can write to a state
 * directory or a cache could control its own supervisor and the next guest, and a guest that can
 * read one sees the files of other guests. So these directories are refused for reading and for
 * writing. The directories of the programs that microagent itself runs are refused only if the
 * guest may write to the share.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/known_programs.h"
#include "base/path.h"
#include "base/program.h"
#include "store/cache.h"
#include "store/own_dirs.h"
#include "store/share/host_system.h"
#include "store/share/parts.h"
#include "store/store.h"

static int refuse_within(const struct judge *judge, const char *what, const char *dir,
			 struct error *err)
{
	return error_set(err, ERR_INVALID, "%s is in the %s %s: share a directory elsewhere",
			 judge->wish->path, what, dir);
}

/* Applies the rule to an existing directory. `what` describes the directory, for example "state
 * directory". */
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
	return error_set(
		err, ERR_INVALID,
		"%s has the %s %s mounted in it, on %s: unmount that or share another directory",
		judge->wish->path, what, dir, row->point);
}

/* Applies the rule to the directory `dir`, which may not exist yet. If the guest could make this
 * directory, it would control everything that is put there later. */
static int apply_to_be(const struct judge *judge, const char *dir, const char *what,
		       struct error *err)
{
	auto_share_way struct share_way way = {0};

	if (!dir)
		return 0;
	if (share_way_look(judge, dir, &way, err) < 0)
		return -1;
	if (!way.ends_in_share)
		return 0;
	return error_set(err, ERR_INVALID, "%s holds the %s %s: " SHARE_NEXT_STEP,
			 judge->wish->path, what, dir);
}

/* Applies the rule to a directory of microagent. If the guest may write to the share, also judges
 * the names on the path to the directory, because the guest could replace one of them. */
static int apply_known(void *data, const char *dir, const char *what, struct error *err)
{
	const struct judge *const *judge = data;
	autofree char *named = NULL;

	if (apply_own(*judge, dir, what, err) < 0)
		return -1;
	if ((*judge)->wish->read_only)
		return 0;
	if (asprintf(&named, "the %s %s", what, dir) < 0) {
		named = NULL;
		return error_errno(err, ENOMEM, "%s", what);
	}
	return share_way_apply(*judge, dir, named, err);
}

static int apply_directories(const struct judge *judge, struct error *err)
{
	autofree char *state = state_dir_default(judge->wish->state_dir, NULL);
	autofree char *cache = cache_dir(NULL);
	enum own_dir kind = OWN_STATE;
	autofree char *above = own_dir_above(judge->spot->fd, &kind);

	if (above)
		return refuse_within(judge, own_dir_name(kind), above, err);
	if ((state && apply_known(&judge, state, own_dir_name(OWN_STATE), err) < 0) ||
	    own_dir_each(apply_known, &judge, err) < 0 ||
	    apply_to_be(judge, state, own_dir_name(OWN_STATE), err) < 0)
		return -1;
	return apply_to_be(judge, cache, own_dir_name(OWN_CACHE), err);
}

/* --- programs -------------------------------------------------------------------------------- */

static const char is_run[] = "which microagent itself runs";

static bool is_directory_or_hidden(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? S_ISDIR(st.st_mode) : errno == ENOENT;
}

/* Returns a mount below `spot` that shows a single file which is directly in `directory`, or NULL
 * if there is no such mount. The result points into `mounts`. */
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

/* Returns true if anything is mounted below the shared directory. If not, which is the usual case,
 * the caller need not search for mounted files. */
static bool has_mounts(const struct judge *judge)
{
	size_t at = 0;

	return spot_next_below(judge->spot, judge->mounts, &at) != NULL;
}

static int apply_file_mounts(const struct judge *judge, const char *dir, struct error *err)
{
	auto_spot struct spot place = SPOT_NONE;
	int found = spot_find(dir, judge->mounts, &place, err);
	const struct mount_row *row;

	if (found <= 0)
		return found;
	row = file_mounted_below(judge->spot, judge->mounts, &place);
	if (!row)
		return 0;
	return error_set(
		err, ERR_INVALID,
		"%s has a file of %s, where programs are, mounted in it, on %s: " SHARE_READ_ONLY,
		judge->wish->path, dir, row->point);
}

/* Judges the path of a program, or of a directory with programs. `why` is the end of the error's
 * text, for example "which microagent itself runs". */
static int apply_way(const struct judge *judge, const char *path, const char *why,
		     struct error *err)
{
	auto_share_way struct share_way way = {0};

	if (share_way_look(judge, path, &way, err) < 0)
		return -1;
	if (way.row)
		return error_set(err, ERR_INVALID,
				 "%s has %s, %s, mounted in it, on %s: " SHARE_READ_ONLY,
				 judge->wish->path, path, why, way.row->point);
	if (way.ends_in_share || (way.name && why == is_run && strcmp(way.name, path) == 0))
		return error_set(err, ERR_INVALID, "%s holds %s, %s: " SHARE_READ_ONLY,
				 judge->wish->path, path, why);
	if (!way.name)
		return 0;
	return error_set(err, ERR_INVALID,
			 "%s, %s, is reached by %s%s, which %s holds: " SHARE_READ_ONLY, path, why,
			 way.by_link ? "the link " : "", way.name, judge->wish->path);
}

static int apply_program_dir(const struct judge *judge, const char *dir, const char *why,
			     struct error *err)
{
	if (apply_way(judge, dir, why, err) < 0)
		return -1;
	return has_mounts(judge) ? apply_file_mounts(judge, dir, err) : 0;
}

/* Judges the path of a program. If something is mounted below the shared directory, also judges the
 * directory that contains the program's name, and the directory that contains the file to which
 * this name leads. */
static int apply_program(const struct judge *judge, const char *program, struct error *err)
{
	bool look_for_files = has_mounts(judge);
	autofree char *real = look_for_files ? realpath(program, NULL) : NULL;
	const char *const names[] = {program, real};

	if (apply_way(judge, program, is_run, err) < 0)
		return -1;
	if (!look_for_files)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		autofree char *dir = names[i] ? strdup(names[i]) : NULL;
		char *slash = dir ? strrchr(dir, '/') : NULL;

		if (!slash)
			continue;
		slash[slash == dir] = '\0';
		if (apply_file_mounts(judge, dir, err) < 0)
			return -1;
	}
	return 0;
}

/* Judges the programs in the directory that microagent runs by their names. Only links are judged,
 * because the file to which a link leads may be in another directory, where the guest can write. */
static int apply_named_in(const struct judge *judge, const char *dir, struct error *err)
{
	struct stat st;

	for (const struct known_program *known = known_programs; known->name; known++) {
		autofree char *program = path_join(dir, known->name, err);

		if (!program)
			return -1;
		if (lstat(program, &st) == 0 && S_ISLNK(st.st_mode) &&
		    apply_program(judge, program, err) < 0)
			return -1;
	}
	return 0;
}

/* An environment variable whose value is a list of directories. */
struct search_list {
	const char *variable;
	const char *entry, *empty; /* the ends of two errors: about an entry of the list, and about
				    * an empty entry */
	const char *separators;
	bool programs; /* the programs in the directories of the list are judged too, and not only
		        * the directories */
};

/* Judges the directories in a list. If a guest could write to such a directory, or make it, it
 * could put a program or library there, which the host would then run. A relative entry is below
 * the working directory, and an empty entry is the working directory itself. */
static int apply_search_list(const struct judge *judge, const struct search_list *search,
			     struct error *err)
{
	const char *list = getenv(search->variable);
	autofree char *all = list && *list ? strdup(list) : NULL;
	char *rest = all;

	if (!list || !*list)
		return 0;
	if (!all)
		return error_errno(err, ENOMEM, "%s", search->variable);
	for (char *dir = strsep(&rest, search->separators); dir;
	     dir = strsep(&rest, search->separators)) {
		if (apply_program_dir(judge, *dir ? dir : ".", *dir ? search->entry : search->empty,
				      err) < 0)
			return -1;
		if (search->programs && *dir == '/' && apply_named_in(judge, dir, err) < 0)
			return -1;
	}
	return 0;
}

static int apply_search_lists(const struct judge *judge, struct error *err)
{
	static const struct search_list lists[] = {
		{"PATH", "where programs are looked for (PATH)",
		 "where programs are looked for (an empty entry of PATH)", ":", true},
		{PROGRAM_PATH_GIVEN, "where programs are looked for (PATH)",
		 "where programs are looked for (an empty entry of PATH)", ":", false},
		/* ld.so(8) separates the entries by ':' or by ';'. */
		{"LD_LIBRARY_PATH", "where libraries are looked for (LD_LIBRARY_PATH)",
		 "where libraries are looked for (an empty entry of LD_LIBRARY_PATH)", ":;", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (apply_search_list(judge, &lists[i], err) < 0)
			return -1;
	return 0;
}

/* Judges the programs and libraries that the user's environment variables name instead of the usual
 * ones. Such a program is judged even if it does not exist yet, because microagent will run it as
 * soon as somebody makes it. */
static int apply_named_programs(const struct judge *judge, struct error *err)
{
	static const char *const variables[] = {
		"MICROAGENT_QEMU",
		"MICROAGENT_QEMU_AMD64",
		"MICROAGENT_QEMU_ARM64",
		"MICROAGENT_FIRECRACKER",
		"MICROAGENT_VIRTIOFSD",
		"MICROAGENT_QEMU_SUPERVISOR",
		"MICROAGENT_FIRECRACKER_SUPERVISOR",
		"MICROAGENT_APPLE_VF_SUPERVISOR",
		"MICROAGENT_LIBRARY",
	};

	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		const char *program = getenv(variables[i]);

		if (program && *program && apply_program(judge, program, err) < 0)
			return -1;
	}
	return 0;
}

/* Judges environment variables with lists of libraries that are loaded into each program
 * (ld.so(8)). A library without a '/' in its name is skipped here, because it is searched in the
 * directories for libraries, which are judged already. */
static int apply_preloaded(const struct judge *judge, struct error *err)
{
	static const struct {
		const char *variable, *separators;
	} lists[] = {{"LD_PRELOAD", ": "}, {"LD_AUDIT", ":"}};

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const char *list = getenv(lists[i].variable);
		autofree char *all = list ? strdup(list) : NULL;
		char *rest = NULL;

		if (list && !all)
			return error_errno(err, ENOMEM, "%s", lists[i].variable);
		for (char *library = all ? strtok_r(all, lists[i].separators, &rest) : NULL;
		     library; library = strtok_r(NULL, lists[i].separators, &rest))
			if (strchr(library, '/') && apply_program(judge, library, err) < 0)
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

	if (!libraries || apply_program_dir(judge, dir, is_run, err) < 0 ||
	    apply_named_in(judge, dir, err) < 0 ||
	    apply_program_dir(judge, libraries, is_run, err) < 0 ||
	    share_each_loaded(apply_loaded, &judge, err) < 0 ||
	    apply_search_lists(judge, err) < 0 || apply_named_programs(judge, err) < 0 ||
	    apply_preloaded(judge, err) < 0)
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
