/* SPDX-License-Identifier: MIT */
#include "backend/parts/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/parts/cell.h"
#include "backend/parts/programs.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/platform/linux/subids.h"
#include "base/platform/linux/userns_held.h"
#include "base/proc.h"

/* The number of ids that are reserved for shares of the host's root, since root has no subordinate
 * ids. These ids come directly before the ids of the cells. Each directory has its own id, so a
 * virtiofsd that was taken over cannot use the directory of another virtiofsd. The id is computed
 * from the directory. So the id is the same at every start, and the guest's root still owns the
 * files that it has made. */
#define ROOT_SUBORDINATES (1u << 24)

/* --- which ids ------------------------------------------------------------------------------- */

unsigned long idmap_own(const struct stat *dir)
{
	const uint64_t words[] = {dir->st_dev, dir->st_ino};
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (size_t i = 0; i < sizeof(words); i++)
		hash = (hash ^ (words[i / 8] >> i % 8 * 8 & 0xff)) * UINT64_C(0x100000001b3);
	return CELL_FIRST_ID - 1 - (unsigned long)((hash ^ hash >> 32) % ROOT_SUBORDINATES);
}

/* Finds the id of the host for the guest's root. If this process is root, `own` is the id that
 * idmap_own() has computed for the shared directory, otherwise 0. */
static int need_subordinate(const char *path, unsigned long own, unsigned long *id,
			    struct error *err)
{
	*id = own && cell_id_is_usable(own) ? own : subids_own(path);
	if (*id == 0 && own)
		*id = CELL_NOBODY;
	if (*id)
		return 0;
	return error_set(
		err, ERR_UNAVAILABLE,
		"shared directories need subordinate ids, and %s has none for user %u: as root, run usermod " SUBIDS_TEXT
		" USER",
		path, (unsigned)geteuid());
}

int idmap_find(int dir, struct idmap *out, struct error *err)
{
	unsigned long uid, gid, own = 0;
	struct stat st = {0};

	if (dir >= 0 && fstat(dir, &st) < 0)
		return error_errno(err, errno, "shared directory");
	if (geteuid() == 0)
		own = idmap_own(&st);

	if (geteuid() != 0) {
		autofree char *newuidmap = program_newidmap("newuidmap", err);
		autofree char *newgidmap = newuidmap ? program_newidmap("newgidmap", err) : NULL;

		if (!newgidmap)
			return -1;
	}
	if (need_subordinate("/etc/subuid", own, &uid, err) < 0 ||
	    need_subordinate("/etc/subgid", own, &gid, err) < 0)
		return -1;
	*out = (struct idmap){.agent_uid = geteuid(),
			      .root_uid = (uid_t)uid,
			      .agent_gid = getegid(),
			      .root_gid = (gid_t)gid};
	return 0;
}

/* --- the namespace --------------------------------------------------------------------------- */

static int write_map(pid_t pid, const char *file, unsigned root, unsigned agent, struct error *err)
{
	char lines[64];

	snprintf(lines, sizeof(lines), "0 %u 1\n%d %u 1\n", root, IDMAP_AGENT, agent);
	return userns_write_map(pid, file, lines, err);
}

static int run_newidmap(const char *name, pid_t pid, unsigned root, unsigned agent,
			struct error *err)
{
	uint64_t deadline = limit_deadline(LIMIT_CELL_MS);
	autofree char *program = program_newidmap(name, err);
	char words[3][16];
	const char *const argv[] = {program, words[0], "0", words[1], "1",
				    "1000",  words[2], "1", NULL};

	if (!program)
		return -1;
	snprintf(words[0], sizeof(words[0]), "%d", (int)pid);
	snprintf(words[1], sizeof(words[1]), "%u", root);
	snprintf(words[2], sizeof(words[2]), "%u", agent);
	return proc_run(argv, NULL, deadline, err);
}

static int write_id_map(pid_t pid, const void *data, struct error *err)
{
	const struct idmap *map = data;
	bool root = geteuid() == 0;

	if (root)
		return write_map(pid, "uid_map", map->root_uid, map->agent_uid, err) < 0
			       ? -1
			       : write_map(pid, "gid_map", map->root_gid, map->agent_gid, err);
	return run_newidmap("newuidmap", pid, map->root_uid, map->agent_uid, err) < 0
		       ? -1
		       : run_newidmap("newgidmap", pid, map->root_gid, map->agent_gid, err);
}

static int write_identity(pid_t pid, const void *data, struct error *err)
{
	static const char lines[] = "0 0 4294967295\n";

	(void)data;
	return userns_write_map(pid, "uid_map", lines, err) < 0
		       ? -1
		       : userns_write_map(pid, "gid_map", lines, err);
}

int idmap_identity_namespace(int *fd, struct error *err)
{
	int held = userns_held(write_identity, NULL, "ids of the containers' directory", err);

	if (held < 0)
		return -1;
	*fd = held;
	return 0;
}

int idmap_namespace(const struct idmap *map, int *fd, struct error *err)
{
	int held = userns_held(write_id_map, map, "ids of a shared directory", err);

	if (held < 0)
		return -1;
	*fd = held;
	return 0;
}
