/* SPDX-License-Identifier: MIT */
#include "oci/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/path.h"
#include "base/platform/process.h"
#include "base/sha256.h"
#include "contract/kind.h"

#define STATE_BYTES (16u << 20)
#define LOCK "lock"
#define STATE "state.json"

const char *const oci_status_names[] = {"creating", "created", "running", "paused", "stopped"};

/* Checks an id by runc's rules. Unlike runc, refuses an id that begins with a dot, since such names
 * in the same directory belong to this program. */
static int check_record_id(const char *id, struct error *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_+-.";
	size_t len = strlen(id);

	if (len == 0 || len > RECORD_ID_MAX || id[0] == '.' || strspn(id, letters) < len)
		return error_set(
			err, ERR_INVALID,
			"invalid container ID format: %.64s; use letters, digits, \"-\", \"_\", \"+\" and \".\", with no \".\" in front",
			id);
	return 0;
}

/* Returns true if the directory contains another directory, and so is not a record: a record has
 * only files. An engine may keep a root directory for each of its namespaces below one root. Such a
 * root directory must not be removed as if it were a container. */
static bool has_directory(int dir)
{
	int own = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *entries = own >= 0 ? fdopendir(own) : NULL;
	const struct dirent *entry;

	if (own >= 0 && !entries)
		close(own);
	while (entries && (entry = readdir(entries)))
		if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0)
			return true;
	return false;
}

static int lock_record(int dir, int operation, struct error *err)
{
	autoclose int lock = openat(dir, LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (lock < 0 || flock(lock, operation) < 0)
		return error_errno(err, errno, "lock of the container");
	return steal_fd(&lock);
}

/* Returns false if another process has removed the record. */
static bool is_there(const struct record *record)
{
	struct stat st;

	return fstat(record->dir, &st) == 0 && st.st_nlink > 0;
}

/* Opens and locks the record in a directory that this process has just made. */
static int hold_new(int root, const char *id, struct record *record, struct error *err)
{
	record->dir = openat(root, id, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (record->dir < 0)
		return error_errno(err, errno, "%s", id);
	record->lock = lock_record(record->dir, LOCK_EX, err);
	if (record->lock < 0) {
		(void)unlinkat(root, id, AT_REMOVEDIR);
		return -1;
	}
	/* The command delete may have removed the record before it was locked. Another container
	 * may have the name now. */
	if (!is_there(record))
		return error_set(err, ERR_CONFLICT,
				 "container was deleted while it was made: %s; create it again",
				 id);
	record->id = strdup(id);
	return record->id ? 0 : error_errno(err, ENOMEM, "%s", id);
}

int record_make(const struct oci *oci, const char *id, struct record *out, struct error *err)
{
	struct record record = {.oci = oci, .dir = -1, .lock = -1};

	if (check_record_id(id, err) < 0 || path_make_dirs(oci->root, 0711, err) < 0)
		return -1;
	autoclose int root = open(oci->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return error_errno(err, errno, "%s", oci->root);
	if (mkdirat(root, id, 0700) < 0)
		return errno == EEXIST ? error_set(err, ERR_CONFLICT,
						   "container with given ID already exists: %s", id)
				       : error_errno(err, errno, "%s/%s", oci->root, id);
	if (hold_new(root, id, &record, err) < 0) {
		record_close(&record);
		return -1;
	}
	*out = record;
	return 0;
}

/* Reads state.json. Sets record->state to NULL if this file does not exist: the container is still
 * being made, or the process that made it was killed. */
static int refresh_state(struct record *record, struct error *err)
{
	autobuf struct buf text = BUF_INIT(STATE_BYTES);
	struct stat st;

	json_decref(record->state);
	record->state = NULL;
	if (fstatat(record->dir, STATE, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	if (path_read_file_at(record->dir, STATE, &text, err) < 0)
		return error_prefix(err, "container %s", record->id);
	record->state = json_load_nul(buf_bytes(&text), text.len, err);
	return record->state ? 0 : -1;
}

int record_open(const struct oci *oci, const char *id, struct record *out, struct error *err)
{
	struct record record = {.oci = oci, .dir = -1, .lock = -1};

	if (check_record_id(id, err) < 0)
		return -1;
	autofree char *path = path_join(oci->root, id, err);
	if (!path)
		return -1;
	record.dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (record.dir < 0)
		return errno == ENOENT
			       ? error_set(err, ERR_NOT_FOUND, "container does not exist: %s", id)
			       : error_errno(err, errno, "%s", path);
	record.id = strdup(id);
	if (!record.id)
		error_errno(err, ENOMEM, "%s", path);
	if (record.id && has_directory(record.dir)) {
		record_close(&record);
		return error_set(
			err, ERR_NOT_FOUND,
			"container does not exist: %s is a directory of containers; to name one of them give --root %s",
			id, path);
	}
	if (!record.id || refresh_state(&record, err) < 0) {
		record_close(&record);
		return -1;
	}
	*out = record;
	return 0;
}

int record_holder(const struct record *record, struct record *out, struct error *err)
{
	const char *sandbox = record_text(record, "sandbox");

	return record_open(record->oci, sandbox ? sandbox : record->id, out, err);
}

int record_lock(struct record *record, struct error *err)
{
	if (record->lock >= 0)
		return 0;
	if (is_there(record))
		record->lock = lock_record(record->dir, LOCK_EX, err);
	if (!is_there(record))
		return error_set(err, ERR_NOT_FOUND, "container does not exist: %s", record->id);
	return record->lock < 0 ? -1 : refresh_state(record, err);
}

int record_write(struct record *record, json_t *state, struct error *err)
{
	autofree char *text = state ? json_line(state, err) : NULL;

	json_decref(record->state);
	record->state = state;
	if (!text)
		return state ? -1 : error_set(err, ERR_IO, "out of memory");
	return path_replace_file_at(record->dir, STATE, text, strlen(text), 0600, PATH_NO_SYNC,
				    err);
}

int record_remove(struct record *record, struct error *err)
{
	autoclose int root = open(record->oci->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return error_errno(err, errno, "%s", record->oci->root);
	return path_remove_tree_at(root, record->id, err);
}

void record_close(struct record *record)
{
	cleanup_close(&record->lock);
	cleanup_close(&record->dir);
	json_decref(record->state);
	free(record->id);
	*record = (struct record)RECORD_NONE;
}

bool record_has(const struct record *record, const char *file)
{
	return faccessat(record->dir, file, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int record_mark(const struct record *record, const char *file, bool there, struct error *err)
{
	if (!there)
		return unlinkat(record->dir, file, 0) == 0 || errno == ENOENT
			       ? 0
			       : error_errno(err, errno, "%s", file);
	autoclose int fd = openat(record->dir, file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return fd >= 0 ? 0 : error_errno(err, errno, "%s", file);
}

const char *record_text(const struct record *record, const char *key)
{
	return json_text(record->state, key, NULL);
}

char *record_path(const struct record *record, const char *file, struct error *err)
{
	char *path = NULL;

	if (asprintf(&path, "%s/%s/%s", record->oci->root, record->id, file) < 0) {
		error_errno(err, ENOMEM, "%s", file);
		return NULL;
	}
	return path;
}

/* Returns true if the process is a zombie: it has ended, but its parent has not yet reaped it. */
static bool is_zombie(pid_t pid)
{
	char path[32], text[512], *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	at = strrchr(text, ')');
	return at && at[1] == ' ' && (at[2] == 'Z' || at[2] == 'X');
}

static pid_t recorded_process(const struct record *record, const char *key, const char *time)
{
	pid_t pid = (pid_t)json_integer_value(json_object_get(record->state, key));
	json_int_t began = json_integer_value(json_object_get(record->state, time));
	const char *recorded = record_text(record, "bootID");
	char boot[37] = "";
	uint64_t now = 0;

	/* Compares not only the pid, but also the boot id and the start time. After the recorded
	 * process has ended, another process may get its pid. After a reboot, another process may
	 * even have the same pid and start time. */
	if (pid <= 0 || !recorded || process_boot_id(boot, NULL) < 0 || strcmp(boot, recorded) != 0)
		return 0;
	if (process_start_time(pid, &now, NULL) < 0 || (json_int_t)now != began || is_zombie(pid))
		return 0;
	return pid;
}

pid_t record_pid(const struct record *record)
{
	return recorded_process(record, "pid", "startTime");
}

pid_t record_keeper(const struct record *record)
{
	return recorded_process(record, "keeperPid", "keeperStartTime");
}

/* Opens a pidfd of the process with the recorded pid, and then checks that this process is the
 * recorded one. A signal through the pidfd cannot reach another process that gets the same pid
 * later. */
static int hold_recorded(const struct record *record, const char *key, const char *time,
			 struct proc *out, struct error *err)
{
	pid_t pid = (pid_t)json_integer_value(json_object_get(record->state, key));
	struct proc held = PROC_NONE;

	if (pid <= 0)
		return error_set(err, ERR_NOT_FOUND,
				 "the container has no process: it was not started, or has ended");
	if (proc_hold(pid, &held, err) < 0)
		return -1;
	if (recorded_process(record, key, time) != pid) {
		proc_let_go(&held);
		return error_set(err, ERR_NOT_FOUND, "process %d of the container has ended",
				 (int)pid);
	}
	*out = held;
	return 0;
}

int record_hold(const struct record *record, struct proc *out, struct error *err)
{
	return hold_recorded(record, "pid", "startTime", out, err);
}

int record_hold_keeper(const struct record *record, struct proc *out, struct error *err)
{
	return hold_recorded(record, "keeperPid", "keeperStartTime", out, err);
}

enum oci_status record_status(const struct record *record)
{
	if (!record->state)
		return OCI_CREATING;
	if (!record_pid(record))
		return OCI_STOPPED;
	if (!record_has(record, "started"))
		return OCI_CREATED;
	return record_has(record, "paused") ? OCI_PAUSED : OCI_RUNNING;
}

char *record_machines(const struct oci *oci, struct error *err)
{
	return path_join(oci->root, RECORD_MACHINES, err);
}

char *record_share(const struct oci *oci, const char *machine, struct error *err)
{
	char *path = NULL;

	if (asprintf(&path, "%s/" RECORD_SHARES "/%s", oci->root, machine) < 0) {
		error_errno(err, ENOMEM, "%s", machine);
		return NULL;
	}
	return path;
}

/* Writes hexadecimal digits that depend on the root, the id and the time. So neither another
 * container nor an earlier container with this id has the same digits. */
static void hash_now(const struct oci *oci, const char *id, int64_t now, char out[SHA256_TEXT])
{
	char unique[RECORD_ID_MAX + 32];
	uint8_t digest[SHA256_BYTES];
	struct sha256 sha;

	snprintf(unique, sizeof(unique), "%s %lld", id, (long long)now);
	sha256_init(&sha);
	sha256_update(&sha, oci->root, strlen(oci->root) + 1);
	sha256_update(&sha, unique, strlen(unique));
	sha256_final(&sha, digest);
	sha256_hex(digest, out);
}

int record_machine_name(const struct oci *oci, const char *id, char out[MACHINE_NAME],
			struct error *err)
{
	int64_t now = clock_real_ns();
	time_t seconds = (time_t)(now / (int64_t)NS_PER_S);
	char hex[SHA256_TEXT], when[32];
	struct tm utc;

	if (!gmtime_r(&seconds, &utc) || utc.tm_year + 1900 > 9999 ||
	    !strftime(when, sizeof(when), "%Y-%m-%dT%H-%M-%SZ", &utc))
		return error_set(err, ERR_IO, "the host's clock cannot be read as a date: set it");
	hash_now(oci, id, now, hex);
	snprintf(out, MACHINE_NAME, RECORD_MACHINE "%.20s-%.8s" BUNDLE_SUFFIX, when, hex);
	return 0;
}

void record_guest_name(const struct oci *oci, const char *id, char out[GUEST_NAME])
{
	char hex[SHA256_TEXT];

	hash_now(oci, id, clock_real_ns(), hex);
	snprintf(out, GUEST_NAME, "%.47s-%.16s", id, hex);
}

static int compare_ids(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

json_t *record_list(const struct oci *oci, struct error *err)
{
	autodir DIR *dir = opendir(oci->root);
	json_auto_t *list = json_array();
	const struct dirent *entry;
	char **ids = NULL;
	size_t count = 0;

	if (!dir && errno != ENOENT) {
		error_errno(err, errno, "%s", oci->root);
		return NULL;
	}
	while (dir && (entry = readdir(dir))) {
		char **grown =
			entry->d_name[0] == '.' ? NULL : reallocarray(ids, count + 1, sizeof(*ids));

		if (!grown)
			continue;
		ids = grown;
		if ((ids[count] = strdup(entry->d_name)))
			count++;
	}
	if (count)
		qsort(ids, count, sizeof(*ids), compare_ids);
	for (size_t i = 0; i < count; i++) {
		autoclose int record =
			openat(dirfd(dir), ids[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

		if (record >= 0 && !has_directory(record))
			json_array_append_new(list, json_string(ids[i]));
		free(ids[i]);
	}
	free(ids);
	return json_incref(list);
}
