/* SPDX-License-Identifier: MIT */
#include "supervisor/inputs/rootfs_digest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/platform/file.h"

/* Returns true if the root file system must still have the digest that prepare recorded. Returns
 * false while the state is live, since the guest may write to the disk at any moment. */
bool rootfs_is_enforced(const struct workspace *ws, enum state state)
{
	return !state_is_live(state) && !workspace_was_started(ws);
}

static void set_last(struct boot_files *files, const char *sha256, const char *when)
{
	snprintf(files->file[BOOT_ROOTFS].sha256, DIGEST_TEXT, "%s", sha256);
	snprintf(files->rootfs_observed_at, CLOCK_TEXT, "%s", when);
}

static int read_last(const json_t *last, struct boot_files *files, struct error *err)
{
	const char *sha256 = NULL, *when = NULL;

	if (json_get_string(last, "", "sha256", JSON_REQUIRED, &sha256, err) < 0 ||
	    json_get_string(last, "", "observedAt", JSON_REQUIRED, &when, err) < 0)
		return -1;
	if (!digest_is_valid(sha256) || strlen(when) >= CLOCK_TEXT)
		return error_set(
			err, ERR_IO,
			"the recorded digest of the root disk, or the time of the digest, is malformed: prepare the workspace again");
	set_last(files, sha256, when);
	return 0;
}

/* Puts the digest that prepare recorded into `files`. A workspace that an older version of
 * microagent prepared may have no recorded digest. */
static void recall_prepared(const struct manifest *manifest, struct boot_files *files)
{
	const json_t *rootfs = json_object_get(manifest->artifacts, "rootfs");
	const char *sha256 = json_text(rootfs, "sha256", NULL);
	const char *when = json_text(manifest->document, "preparedAt", NULL);

	set_last(files, digest_is_valid(sha256) ? sha256 : "", when ? when : "");
}

static bool is_at_rest(enum state state)
{
	return state == STATE_HALTED || state == STATE_STOPPED || state == STATE_FAILED;
}

/* Puts the digest of the disk's present contents into `files`, if the cache remembers that digest.
 * Otherwise returns false. */
static bool recall_present(struct boot_files *files)
{
	struct digest_key now = {0};
	char sha256[DIGEST_TEXT];

	if (files->file[BOOT_ROOTFS].fd < 0 ||
	    digest_key(files->file[BOOT_ROOTFS].fd, DIGEST_FILE, &now, NULL) < 0 ||
	    !digest_recall(&now, sha256))
		return false;
	files->rootfs_key = now;
	set_last(files, sha256, "");
	return true;
}

int rootfs_digest_recall(const struct workspace *ws, const struct manifest *manifest,
			 enum state state, struct boot_files *files, struct error *err)
{
	struct error why = {0};
	json_auto_t *last = NULL;

	if (files->ram_root)
		/* A guest never writes to the file of a root file system in memory, so the digest
		 * of that file is still valid. */
		return 0;
	files->rootfs_started = true;
	if (is_at_rest(state) && recall_present(files))
		return 0;
	last = workspace_read(ws, ROOTFS_RECORD, &why);
	if (!last && why.code != ERR_NOT_FOUND) {
		*err = why;
		return -1;
	}
	if (!last)
		recall_prepared(manifest, files);
	else if (read_last(last, files, &why) < 0)
		return workspace_damaged(ws, ROOTFS_RECORD, &why, err);
	return 0;
}

static int write_last(const struct workspace *ws, const char *sha256, const char *when,
		      struct error *err)
{
	json_auto_t *last = json_object();

	if (json_put(last, "format", json_integer(1), err) < 0 ||
	    json_put_string(last, "sha256", sha256, err) < 0 ||
	    json_put_string(last, "observedAt", when, err) < 0)
		return -1;
	return workspace_write(ws, ROOTFS_RECORD, last, STORE_NO_SYNC, err);
}

/* Returns true if the disk has not changed since its hashing began. */
static bool is_as_hashed(const struct boot_files *files)
{
	struct digest_key now = {0};

	return digest_key(files->file[BOOT_ROOTFS].fd, DIGEST_FILE, &now, NULL) == 0 &&
	       digest_key_equal(&now, &files->rootfs_key);
}

int rootfs_digest_renew(const struct workspace *ws, enum state state, struct boot_files *files,
			struct error *err)
{
	char now[CLOCK_TEXT];

	if (files->ram_root)
		return 0;
	clock_rfc3339(clock_real_ns(), now);
	boot_files_hash_rootfs(files);
	files->rootfs_started = true;
	/* If the disk could not be hashed, `files` already has the reason. */
	if (!files->file[BOOT_ROOTFS].sha256[0])
		return 0;
	if (!is_at_rest(state) || !is_as_hashed(files))
		memcpy(files->rootfs_observed_at, now, CLOCK_TEXT);
	return write_last(ws, files->file[BOOT_ROOTFS].sha256, now, err);
}

void rootfs_digest_keep(const struct workspace *ws, const struct boot_files *files)
{
	const char *when = files->rootfs_observed_at;
	char now[CLOCK_TEXT];
	struct error ignored;

	if (!files->file[BOOT_ROOTFS].sha256[0])
		return;
	if (!*when) {
		clock_rfc3339(clock_real_ns(), now);
		when = now;
	}
	/* If the host's disk has no room for the new record, the older record remains. */
	(void)write_last(ws, files->file[BOOT_ROOTFS].sha256, when, &ignored);
}

void rootfs_digest_time(const struct workspace *ws, char out[CLOCK_TEXT])
{
	struct error ignored;
	json_auto_t *last = workspace_read(ws, ROOTFS_RECORD, &ignored);
	const char *when = json_text(last, "observedAt", "");

	if (*when && strlen(when) < CLOCK_TEXT)
		memcpy(out, when, strlen(when) + 1);
	else
		clock_rfc3339(clock_real_ns(), out);
}

int rootfs_hand_over(const struct workspace *ws, const struct manifest *manifest, int fd,
		     struct first_start *out, struct error *err)
{
	const json_t *recorded = json_object_get(manifest->artifacts, "rootfs");
	const char *sha256 = json_text(recorded, "sha256", NULL);
	char now[CLOCK_TEXT];
	struct stat st;

	/* A machine that only reads the disk does not change it, so nothing is recorded for such a
	 * machine. */
	if (workspace_was_started(ws) || !digest_is_valid(sha256))
		return 0;
	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "config.rootfsPath");
	clock_rfc3339(clock_real_ns(), now);
	if (write_last(ws, sha256, now, err) < 0)
		return -1;
	*out = (struct first_start){.is_first = true, .modified = file_modified(&st)};
	return 0;
}

void rootfs_take_back(const struct workspace *ws, int fd, struct first_start *first)
{
	struct timespec modified;
	struct error ignored;
	struct stat st;

	if (!first->is_first || fstat(fd, &st) < 0)
		return;
	first->is_first = false;
	modified = file_modified(&st);
	if (modified.tv_sec == first->modified.tv_sec &&
	    modified.tv_nsec == first->modified.tv_nsec)
		(void)workspace_remove_file(ws, ROOTFS_RECORD, &ignored);
}
