/* SPDX-License-Identifier: MIT */
/*
 * Checks whether the host has room for one more member of a pool. Only members, which are made in
 * advance, wait for room. A session that a user creates is made at once. So a pool never forces the
 * host to swap, and never uses the memory that the next task needs.
 *
 * The check counts the memory that members really use, which is less than the memory that they were
 * given. The host's count of free memory already excludes the use of existing members, and the next
 * member is expected to use as much as one of them. So all members together could not use their
 * whole memory at the same time. But whenever a member is made, one member can use its whole
 * memory.
 */
#include <errno.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/platform/system.h"
#include "session/pools/pool.h"

static int64_t processors(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	return online > 0 ? online : 1;
}

static int64_t members_max(void)
{
	return processors() * (int64_t)limit_get(LIMIT_POOL_MEMBERS_PER_CPU);
}

static int64_t member_mib(const struct pool_record *record)
{
	return record->memory_mib + (int64_t)limit_get(LIMIT_POOL_OVERHEAD_MIB);
}

static int64_t least_mib(const struct pool_record *record)
{
	int64_t least = (int64_t)limit_get(LIMIT_POOL_LEAST_MIB), whole = member_mib(record);

	return whole < least ? whole : least;
}

int64_t pool_mib(const struct pool_record *record)
{
	int64_t all;

	return __builtin_mul_overflow(record->size, least_mib(record), &all) ? INT64_MAX / 2 : all;
}

int pool_room(const struct pool *pool, const struct pool_record *record, size_t members,
	      int64_t takes_mib, struct error *err)
{
	uint64_t free_disk = limit_get(LIMIT_POOL_FREE_DISK_MIB), disk;
	int64_t whole = member_mib(record), kept = (int64_t)limit_get(LIMIT_POOL_FREE_MIB);
	uint64_t total_bytes = 0, bytes = 0;
	int64_t available, wanted;
	struct statvfs fs;

	if (memory_of_host(&total_bytes, &bytes, err) < 0)
		return -1;
	/* Some space must stay free on the disk, because a full disk would pause the sessions that
	 * are in use. */
	if (fstatvfs(pool->dir.fd, &fs) < 0)
		return error_errno(err, errno, "%s", pool->dir.path);
	disk = (uint64_t)fs.f_bavail * fs.f_frsize >> 20;
	if (disk < free_disk)
		return error_set(
			err, ERR_UNAVAILABLE,
			"%llu MiB of disk are free where the state directory is, and %llu MiB must stay free: make room on this disk",
			(unsigned long long)disk, (unsigned long long)free_disk);
	/* If the memory use of the existing members is unknown, the next member is expected to use
	 * its whole memory. */
	wanted = kept + (takes_mib ? takes_mib : whole);
	if (wanted < whole)
		wanted = whole;
	available = (int64_t)(bytes >> 20);
	if ((int64_t)members >= members_max())
		return error_set(
			err, ERR_UNAVAILABLE,
			"%zu sessions are kept ready, which is the most for %lld processors: make a pool smaller",
			members, (long long)processors());
	if (available < wanted)
		return error_set(
			err, ERR_UNAVAILABLE,
			"%lld MiB of memory are available, and the next session needs %lld: free some, or make the pool smaller",
			(long long)available, (long long)wanted);
	return 0;
}

/* Returns the beginning of an error about the size of a pool. If `never` is set, the host could not
 * have a pool of this size even without other pools, so the field's value is wrong, and the text
 * names the field. Otherwise only the other pools leave too little room, so the field's value is
 * not wrong, and the text is empty. */
static const char *size_field(bool never)
{
	return never ? "pool.size: " : "";
}

int pool_check_size(const struct pool_record *record, size_t others, int64_t others_mib,
		    struct error *err)
{
	int64_t total, rest = members_max() - (int64_t)others;
	int64_t kept = (int64_t)limit_get(LIMIT_POOL_FREE_MIB),
		least = (int64_t)limit_get(LIMIT_WORKSPACE_MEMORY_MIN_MIB);
	uint64_t bytes = 0, available = 0;

	if (memory_of_host(&bytes, &available, err) < 0)
		return -1;
	total = (int64_t)(bytes >> 20);
	if (record->memory_mib < least)
		return error_set(err, ERR_INVALID,
				 "config.memoryMiB must be at least %lld MiB, and is %lld",
				 (long long)least, (long long)record->memory_mib);
	if (member_mib(record) > total - kept)
		return error_set(
			err, ERR_INVALID,
			"config.memoryMiB: a session with %lld MiB takes %lld MiB and does not fit: this host has %lld MiB, and %lld MiB must stay free; choose less memory",
			(long long)record->memory_mib, (long long)member_mib(record),
			(long long)total, (long long)kept);
	if (record->cpus > processors())
		return error_set(err, ERR_INVALID,
				 "pool.cpus is %lld, but this host has %lld processors: give fewer",
				 (long long)record->cpus, (long long)processors());
	if (record->size > rest)
		return error_set(
			err, ERR_INVALID,
			"%s%lld sessions are too many: with %lld processors and the other pools this host keeps %lld ready; choose fewer",
			size_field(record->size > members_max()), (long long)record->size,
			(long long)processors(), (long long)(rest > 0 ? rest : 0));
	if (pool_mib(record) > total - kept - others_mib)
		return error_set(
			err, ERR_INVALID,
			"%s%lld sessions do not fit, each of which takes at least %lld MiB: this host has %lld MiB, %lld MiB must stay free and other pools have %lld MiB; choose fewer",
			size_field(pool_mib(record) > total - kept), (long long)record->size,
			(long long)least_mib(record), (long long)total, (long long)kept,
			(long long)others_mib);
	return 0;
}

/* --- the memory that waiting members use ----------------------------------------------------- */

/* Waiting members use far less memory than they were given, because they run no programs of users,
 * and because memory that they share with other processes is not counted. */

#define MIB (1 << 20)

/* Returns how many bytes of the host's memory this member uses and shares with no other process.
 * Returns 0 if this process cannot see the number of bytes for each process of the member. */
static int64_t bytes_of_member(const struct microagent *agent, const char *name)
{
	auto_session struct microagent_session *member = session_handle(agent, name, NULL);
	json_auto_t *footprint =
		member ? microagent_footprint(member->agent, member->id, NULL) : NULL;
	const json_t *process;
	int64_t bytes = 0;
	size_t i;

	json_array_foreach(json_object_get(footprint, "processes"), i, process)
	{
		const json_t *alone = json_object_get(process, "privateBytes");

		if (!alone)
			return 0;
		bytes += json_integer_value(alone);
	}
	return bytes;
}

int64_t pool_member_takes(const struct microagent *agent, const struct pool *pool)
{
	json_auto_t *names = pool_tokens(pool, POOL_READY, NULL);
	const json_t *name;
	int64_t most = 0;
	size_t i;

	json_array_foreach(names, i, name)
	{
		int64_t bytes = bytes_of_member(agent, json_string_value(name));

		if (bytes > most)
			most = bytes;
	}
	return (most + MIB - 1) / MIB;
}
