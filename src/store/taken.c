/* SPDX-License-Identifier: MIT */
#include "store/taken.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/platform/file.h"
#include "base/platform/process.h"
#include "store/store.h"

#define TITLE_BYTES 8192

struct taker {
	struct stat file;
	const char *name; /* name of the disk file */
	char *out;	  /* the result: the path of the workspace that uses the file,
			   * <stateDir>/<id> */
	size_t size;
};

bool live_supervisor_is(pid_t pid, char *out, size_t size)
{
	static const char live[] = "-supervisor: live ";
	autobuf struct buf title = BUF_INIT(TITLE_BYTES);
	const char *label;

	if (process_arguments(pid, &title) < 0 ||
	    strncmp(buf_string(&title), "microagent-", 11) != 0)
		return false;
	label = strstr(buf_string(&title), live);
	if (label)
		snprintf(out, size, "%s", label + strlen(live));
	return label != NULL;
}

static int is_taken_file(const struct process_file *file, void *data)
{
	const struct taker *taker = data;

	return file->dev == taker->file.st_dev && file->ino == taker->file.st_ino;
}

static int is_taker(pid_t pid, void *data)
{
	struct taker *taker = data;

	return live_supervisor_is(pid, taker->out, taker->size) &&
	       process_each_file(pid, taker->name, is_taken_file, taker);
}

/* Finds the workspace whose live supervisor has the file open. Checks only processes whose open
 * files this process may see. */
static bool find_taker(int fd, char *out, size_t size)
{
	struct taker taker = {.out = out, .size = size};
	char path[PATH_MAX];

	if (file_path(fd, path, sizeof(path)) < 0 || fstat(fd, &taker.file) < 0)
		return false;
	taker.name = strrchr(path, '/');
	if (!taker.name++ || !*taker.name)
		return false;
	return process_each(is_taker, &taker, NULL) > 0;
}

int file_take(int fd, const char *path, bool read_only, struct error *err)
{
	int operation = read_only ? LOCK_SH : LOCK_EX;
	char user[PATH_MAX] = "";
	bool known;

	/* On a file system without flock, this function takes no lock, and only locks that the VMM
	 * takes itself protect the file. */
	if (flock(fd, operation | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return 0;
	known = find_taker(fd, user, sizeof(user));
	if (!known && flock_until(fd, operation, limit_deadline(LIMIT_ENDING_MS), path, NULL) == 0)
		return 0;
	error_set(err, ERR_CONFLICT, "%s is used by %s%s, which runs%s", path,
		  known ? "the workspace " : "another workspace", known ? user : "",
		  read_only ? " and writes to it" : "");
	return error_reason(err, REASON_DISK_TAKEN, path);
}

void file_give_back(int fd)
{
	if (fd >= 0)
		(void)flock(fd, LOCK_UN);
}
