/* SPDX-License-Identifier: MIT */
/* Reads facts about any process from /proc, as far as the permissions of this process allow. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/platform/process.h"

static int open_process_file(pid_t pid, const char *name)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

pid_t process_parent(pid_t pid)
{
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	autofile FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	text[n] = '\0';
	/* The line is "PID (NAME) STATE PPID ...". The name may contain any bytes, so the search
	 * for the other fields begins after the last ')'. */
	const char *end = strrchr(text, ')');
	return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : 0;
}

/* Reads field 22 of /proc/PID/stat: the clock ticks from the boot to the start of the process. */
int process_start_time(pid_t pid, uint64_t *began, struct error *err)
{
	autobuf struct buf stat = BUF_INIT(4096);
	char path[32];
	const char *field;

	if (pid <= 0)
		return error_set(err, ERR_NOT_FOUND, "no process has the pid %d", (int)pid);
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (path_read_file_at(AT_FDCWD, path, &stat, err) < 0) {
		/* ESRCH: the process exited after the file was opened. */
		if (err && err->errnum == ESRCH)
			err->code = ERR_NOT_FOUND;
		return -1;
	}
	/* Field 2 is the name in parentheses. The name itself may contain blanks and parentheses.
	 * So the later fields are counted from the last ')'. */
	field = buf_string(&stat);
	field = field ? strrchr(field, ')') : NULL;
	for (int i = 2; field && i < 22; i++)
		if ((field = strchr(field, ' ')))
			field++;
	if (!field || *field < '0' || *field > '9')
		return error_set(
			err, ERR_IO,
			"%s has no start time of the process: this is a bug of microagent or of this kernel",
			path);
	*began = strtoull(field, NULL, 10);
	return 0;
}

/* Returns the number in a line of smaps_rollup, in bytes; 0 if the line is missing. */
static uint64_t rollup_line(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	return line ? strtoull(line + strlen(name), NULL, 10) * 1024 : 0;
}

int process_memory(pid_t pid, struct process_memory *out, struct error *err)
{
	autobuf struct buf rollup = BUF_INIT(8192);
	char path[40];
	const char *text;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	if (path_read_file_at(AT_FDCWD, path, &rollup, err) < 0) {
		if (err && err->errnum == ESRCH)
			err->code = ERR_NOT_FOUND;
		return -1;
	}
	text = buf_string(&rollup);
	if (!text || !strstr(text, "\nRss:"))
		return error_set(err, ERR_NOT_FOUND,
				 "%s shows no memory, because the process is ending", path);
	*out = (struct process_memory){
		.resident = rollup_line(text, "\nRss:"),
		.proportional = rollup_line(text, "\nPss:"),
		.alone = rollup_line(text, "\nPrivate_Clean:") +
			 rollup_line(text, "\nPrivate_Dirty:"),
	};
	return 0;
}

int process_boot_id(char out[37], struct error *err)
{
	static const char path[] = "/proc/sys/kernel/random/boot_id";
	autobuf struct buf id = BUF_INIT(64);

	if (path_read_file_at(AT_FDCWD, path, &id, err) < 0)
		return -1;
	if (id.len < 36)
		return error_set(
			err, ERR_IO,
			"%s is too short to be the id of a boot: /proc on this host is not that of Linux",
			path);
	memcpy(out, buf_bytes(&id), 36);
	out[36] = '\0';
	return 0;
}

int process_arguments(pid_t pid, struct buf *out)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	return path_read_file_at(AT_FDCWD, path, out, NULL);
}

void process_name(pid_t pid, char out[17])
{
	autoclose int fd = open_process_file(pid, "comm");
	ssize_t n = fd >= 0 ? read(fd, out, 16) : 0;

	out[n > 0 ? n : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	if (!*out)
		memcpy(out, "?", sizeof("?"));
}

int process_each(process_fn *fn, void *data, struct error *err)
{
	autodir DIR *proc = opendir("/proc");
	const struct dirent *entry;
	int rc = 0;

	if (!proc)
		return error_errno(err, errno, "/proc");
	while (rc == 0 && (entry = readdir(proc))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		rc = pid > 0 ? fn(pid, data) : 0;
	}
	return rc;
}

/* --- open files ------------------------------------------------------------------------------- */

/* Returns true if `last`, the last component of an open file's path, is `name`. If the file was
 * removed, the kernel appends " (deleted)" to its path. */
static bool is_named(const char *last, const char *name)
{
	size_t len = strlen(name);

	return strncmp(last, name, len) == 0 &&
	       (!last[len] || strcmp(last + len, " (deleted)") == 0);
}

/* Examines an open file. Returns false if the file has another name, or if this process may not
 * examine it. */
static bool look_at_file(int fds, const char *number, const char *name, char path[PATH_MAX],
			 struct process_file *out)
{
	ssize_t n = readlinkat(fds, number, path, PATH_MAX - 1);
	const char *slash;
	struct statx file;
	struct stat link;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	if (!slash || (name && !is_named(slash + 1, name)))
		return false;
	/* The permissions of the link in /proc show whether the file was opened for reading or
	 * writing. */
	if (fstatat(fds, number, &link, AT_SYMLINK_NOFOLLOW) < 0 ||
	    statx(fds, number, AT_STATX_DONT_SYNC, STATX_INO, &file) < 0)
		return false;
	*out = (struct process_file){.path = path,
				     .is_read = link.st_mode & S_IRUSR,
				     .dev = makedev(file.stx_dev_major, file.stx_dev_minor),
				     .ino = file.stx_ino};
	return true;
}

int process_each_file(pid_t pid, const char *name, process_file_fn *fn, void *data)
{
	autoclose int fds = open_process_file(pid, "fd");
	autodir DIR *dir = fds >= 0 ? fdopendir(fds) : NULL;
	const struct dirent *entry;
	struct process_file file;
	char path[PATH_MAX];
	int rc = 0;

	if (dir)
		steal_fd(&fds); /* `dir` owns the descriptor from now on */
	while (dir && rc == 0 && (entry = readdir(dir)))
		if (look_at_file(dirfd(dir), entry->d_name, name, path, &file))
			rc = fn(&file, data);
	return rc;
}
