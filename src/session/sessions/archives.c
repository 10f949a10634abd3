/* SPDX-License-Identifier: MIT */
/* Removes archives of destroyed sessions by the rule of the user, for example "older than 2
 * days". */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/path.h"
#include "session/sessions/session.h"
#include "store/audit.h"

#define REMOVING ".removing-"
/* size in bytes of a buffer for a file name with the prefix REMOVING */
#define ARCHIVE_NAME_ROOM 288

/* Gets the status of the archive's log, because the log's modification time is the time of its last
 * line. If the log is lost, gets the status of the archive's directory, because the directory's
 * modification time is the time at which the log was removed. */
static int archive_time(int archives, const char *name, struct stat *out, struct error *err)
{
	char log[ARCHIVE_NAME_ROOM];

	snprintf(log, sizeof(log), "%s/" AUDIT_LOG, name);
	if (fstatat(archives, log, out, AT_SYMLINK_NOFOLLOW) == 0 ||
	    (errno == ENOENT && fstatat(archives, name, out, AT_SYMLINK_NOFOLLOW) == 0))
		return 0;
	return error_errno(err, errno, ARCHIVE_DIR "/%s", name);
}

/* Returns true if the session still has a bundle. Then the destruction of the session has not
 * finished, and may still need the archive. */
static bool has_bundle(const struct microagent *agent, const char *name)
{
	autofree char *path = NULL;

	return asprintf(&path, "%s/" SESSIONS_DIR "/%s" BUNDLE_SUFFIX, agent->state_path, name) <
		       0 ||
	       access(path, F_OK) == 0 || errno != ENOENT;
}

/* Removes an archive. Before that, writes a line to the security log: that the archive is removed
 * on purpose, and the rule `why`. */
static int remove_archive(const struct microagent *agent, int archives, const char *name,
			  const char *why, struct error *err)
{
	json_auto_t *data = json_pack("{s:s}", "why", why);
	const struct audit_event event = {AUDIT_WARNING, "session", SECURITY_ARCHIVE_REMOVED, data,
					  0};
	char going[ARCHIVE_NAME_ROOM];

	snprintf(going, sizeof(going), REMOVING "%s", name);
	if (security_log_note(agent->state_path, name, &event, err) < 0)
		return -1;
	if (renameat(archives, name, archives, going) < 0)
		return error_errno(err, errno, ARCHIVE_DIR "/%s", name);
	return path_remove_tree_at(archives, going, err);
}

struct removal {
	const struct microagent *agent;
	int archives;
	time_t before;
	char why[64];
	json_t *removed, *left;
};

/* Removes the archive if it is old enough. Returns 1 if the archive was removed, 0 if it stays or
 * if an earlier call had already noted its removal, or -1 with err set. */
static int remove_if_old(const struct removal *removal, const char *name, struct error *err)
{
	struct stat st;

	/* An earlier call that was killed has noted the removal of this archive, but has not
	 * removed all files. */
	if (strncmp(name, REMOVING, strlen(REMOVING)) == 0)
		return path_remove_tree_at(removal->archives, name, err);
	if (archive_time(removal->archives, name, &st, err) < 0)
		return -1;
	if (st.st_mtime >= removal->before || has_bundle(removal->agent, name))
		return 0;
	return remove_archive(removal->agent, removal->archives, name, removal->why, err) < 0 ? -1
											      : 1;
}

static int remove_each(const struct removal *removal, DIR *entries, struct error *err)
{
	const struct dirent *entry;

	while ((entry = readdir(entries))) {
		const char *name = entry->d_name;
		bool going = strncmp(name, REMOVING, strlen(REMOVING)) == 0;
		char parsed[SESSION_NAME_ROOM];
		struct error why = {0};
		json_t *told;
		int done;

		if (!going &&
		    (session_audited_parse(name, parsed, NULL) < 0 || strcmp(parsed, name) != 0))
			continue;
		done = remove_if_old(removal, name, &why);
		if (done == 0)
			continue;
		told = json_pack("{s:s,s:o}", "name", name, "why",
				 done > 0 ? json_string(removal->why)
					  : json_string_lossy(why.msg, strlen(why.msg)));
		if (json_array_append_new(done > 0 ? removal->removed : removal->left, told) < 0)
			return error_errno(err, ENOMEM, ARCHIVE_DIR);
	}
	return 0;
}

/* Writes the rule of a removal, for example "an archive older than 2 days". The age is given in the
 * largest unit in which it is a whole number. */
static void say_age(int64_t seconds, char out[64])
{
	static const struct {
		int64_t seconds;
		const char *unit;
	} units[] = {{86400, "day"}, {3600, "hour"}, {60, "minute"}, {1, "second"}};
	size_t i = 0;

	while (seconds % units[i].seconds)
		i++;
	snprintf(out, 64, "an archive older than %lld %s%s",
		 (long long)(seconds / units[i].seconds), units[i].unit,
		 seconds / units[i].seconds == 1 ? "" : "s");
}

json_t *microagent_archive_remove_older(struct microagent *agent, int64_t seconds,
					struct error *err)
{
	json_auto_t *removed = json_array(), *left = json_array();
	struct removal removal = {.agent = agent, .removed = removed, .left = left};
	autodir DIR *entries = NULL;
	autofree char *path = NULL;

	if (seconds < 1) {
		error_set(err, ERR_INVALID,
			  "the age of the archives to be removed must be at least one second");
		return NULL;
	}
	removal.before = (time_t)(clock_real_ns() / (int64_t)NS_PER_S - seconds);
	say_age(seconds, removal.why);
	path = path_join(agent->state_path, ARCHIVE_DIR, err);
	if (!path)
		return NULL;
	entries = opendir(path);
	if (!entries && errno != ENOENT) {
		error_errno(err, errno, "%s", path);
		return NULL;
	}
	removal.archives = entries ? dirfd(entries) : -1;
	if (entries && remove_each(&removal, entries, err) < 0)
		return NULL;
	return json_pack("{s:O,s:O*}", "removed", removed, "left",
			 json_array_size(left) ? left : NULL);
}
