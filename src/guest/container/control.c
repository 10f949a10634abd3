/* SPDX-License-Identifier: MIT */
/*
 * The program microagent-container, which the host runs as a command of the guest, to control or
 * list all processes of a container. The program uses the files of the container's cgroup, and does
 * not need the agent. The commands of the program:
 *
 *   freeze ID                freezes all processes, and returns when they stand still
 *   thaw ID                  lets all processes go on, and returns when they run
 *   signal ID NUMBER         sends the signal to every process
 *   update ID FILE=VALUE...  writes limits (group.h)
 *   stats ID                 prints {FILE: TEXT, ...}
 *   ps ID                    prints {"processes":[{"pid","ppid","uid","command"}]}, with the
 *                            guest's numbers of processes and users
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "guest/container/group.h"
#include "guest/roles.h"
#include "guest/writer.h"

#define TEXT_MAX 65536

static const char *const stat_files[] = {
	"cgroup.freeze", "cpu.stat",	"io.stat",     "memory.current",      "memory.events",
	"memory.max",	 "memory.peak", "memory.stat", "memory.swap.current", "memory.swap.max",
	"pids.current",	 "pids.max",	"cpu.max",
};

/* Reads at most TEXT_MAX - 1 bytes of a file as a string. If the file cannot be read, returns false
 * and sets `text` to "". */
static bool read_group_file(int dir, const char *name, char text[TEXT_MAX])
{
	autoclose int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, text, TEXT_MAX - 1);

	text[n > 0 ? n : 0] = '\0';
	return n >= 0;
}

static int write_control(int dir, const char *name, const char *text, struct error *err)
{
	autoclose int fd = openat(dir, name, O_WRONLY | O_CLOEXEC);

	if (strchr(name, '/') || fd < 0 || write(fd, text, strlen(text)) < 0)
		return error_errno(err, errno, "%.100s", name);
	return 0;
}

/* --- freezing -------------------------------------------------------------------------------- */

static int await_frozen(int group, bool frozen, struct error *err)
{
	const char *wanted = frozen ? "frozen 1" : "frozen 0";
	autoclose int events = openat(group, "cgroup.events", O_RDONLY | O_CLOEXEC);
	char text[TEXT_MAX];

	if (events < 0)
		return error_errno(err, errno, "cgroup.events");
	for (;;) {
		struct pollfd change = {.fd = events, .events = POLLPRI};
		ssize_t n = pread(events, text, sizeof(text) - 1, 0);

		text[n > 0 ? n : 0] = '\0';
		if (n < 0 || strstr(text, wanted))
			return n < 0 ? error_errno(err, errno, "cgroup.events") : 0;
		if (poll(&change, 1, (int)limit_get(LIMIT_CANCEL_MS)) == 0)
			return error_set(
				err, ERR_TIMEOUT,
				"the container was not paused or resumed in time, because some of its processes did not stop or go on: try again");
	}
}

static int freeze_group(int group, char **words, struct error *err)
{
	(void)words;
	return write_control(group, "cgroup.freeze", "1", err) < 0 ? -1
								   : await_frozen(group, true, err);
}

static int thaw_group(int group, char **words, struct error *err)
{
	(void)words;
	return write_control(group, "cgroup.freeze", "0", err) < 0
		       ? -1
		       : await_frozen(group, false, err);
}

/* --- processes ------------------------------------------------------------------------------- */

typedef int process_fn(pid_t pid, void *data, struct error *err);

static int each_in(int group, process_fn *fn, void *data, struct error *err)
{
	autofile FILE *procs = NULL;
	int fd = openat(group, "cgroup.procs", O_RDONLY | O_CLOEXEC);
	char line[32];

	procs = fd < 0 ? NULL : fdopen(fd, "re");
	while (procs && fgets(line, sizeof(line), procs)) {
		pid_t pid = (pid_t)strtol(line, NULL, 10);

		if (pid > 0 && fn(pid, data, err) < 0)
			return -1;
	}
	return 0;
}

/* Calls `fn` for each process of the container. The container's first process is in the cgroup
 * `group`. Each further command is in a cgroup below `group`. If `fn` fails, returns -1 at once. */
static int each_process(int group, process_fn *fn, void *data, struct error *err)
{
	autodir DIR *dir = NULL;
	int copy = openat(group, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;

	dir = copy < 0 ? NULL : fdopendir(copy);
	if (!dir)
		return error_errno(err, errno, "cgroup");
	if (each_in(group, fn, data, err) < 0)
		return -1;
	while ((entry = readdir(dir))) {
		autoclose int below = -1;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		below = openat(copy, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (below >= 0 && each_in(below, fn, data, err) < 0)
			return -1;
	}
	return 0;
}

static int signal_one(pid_t pid, void *data, struct error *err)
{
	const int *number = data;

	if (kill(pid, *number) < 0 && errno != ESRCH)
		return error_errno(err, errno, "process %d", (int)pid);
	return 0;
}

static int signal_all(int group, char **words, struct error *err)
{
	int number = words[0] ? (int)strtol(words[0], NULL, 10) : 0;

	if (number < 1 || number > 64)
		return error_set(err, ERR_INVALID, "the signal must be a number from 1 to 64");
	return each_process(group, signal_one, &number, err);
}

static int list_one(pid_t pid, void *data, struct error *err)
{
	struct writer *w = data;
	char path[48], text[TEXT_MAX];
	const char *parent;
	struct stat st;

	(void)err;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!read_group_file(AT_FDCWD, path, text) || stat(path, &st) < 0)
		return 0; /* the process has ended after it was listed */
	/* The line has the form: pid (name) state ppid. The name may contain any byte, also ')'. */
	parent = strrchr(text, ')');
	writer_open_item(w);
	writer_number(w, "pid", pid);
	writer_number(w, "ppid", parent && strlen(parent) > 4 ? strtol(parent + 4, NULL, 10) : 0);
	writer_number(w, "uid", st.st_uid);
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, 4096);
	for (ssize_t i = 0; i + 1 < n; i++)
		text[i] = text[i] ? text[i] : ' ';
	writer_bytes(w, "command", text, n > 1 ? (size_t)n - 1 : 0);
	writer_close_item(w);
	return 0;
}

static int print_written(struct writer *w, struct error *err)
{
	autofree char *text = writer_end(w);

	if (!text || puts(text) < 0 || fflush(stdout) < 0)
		return error_errno(err, text ? errno : ENOMEM, "stdout");
	return 0;
}

static int print_processes(int group, char **words, struct error *err)
{
	struct writer w = writer_begin(err);

	(void)words;
	writer_open_list(&w, "processes");
	if (each_process(group, list_one, &w, err) < 0) {
		free(writer_end(&w));
		return -1;
	}
	writer_close_list(&w);
	return print_written(&w, err);
}

/* --- figures and limits ---------------------------------------------------------------------- */

static int stats(int group, char **words, struct error *err)
{
	struct writer w = writer_begin(err);
	char text[TEXT_MAX];

	(void)words;
	for (size_t i = 0; i < ARRAY_SIZE(stat_files); i++)
		if (read_group_file(group, stat_files[i], text))
			writer_text(&w, stat_files[i], text);
	return print_written(&w, err);
}

static int update(int group, char **words, struct error *err)
{
	for (; *words; words++) {
		char *value = strchr(*words, '=');

		if (!value)
			return error_set(
				err, ERR_INVALID,
				"%.100s is not a limit of a container: give a limit as FILE=VALUE, like pids.max=100",
				*words);
		*value = '\0';
		if (write_control(group, *words, value + 1, err) < 0)
			return -1;
	}
	return 0;
}

static const struct {
	const char *word;
	int (*run)(int group, char **words, struct error *err);
} controls[] = {
	{"freeze", freeze_group}, {"thaw", thaw_group}, {"signal", signal_all},
	{"update", update},	  {"stats", stats},	{"ps", print_processes},
};

static int control(char **words, struct error *err)
{
	char path[256];

	snprintf(path, sizeof(path), GROUP_PATH "/%.100s", words[1]);
	autoclose int group = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (group < 0 || strchr(words[1], '/'))
		return error_set(
			err, ERR_NOT_FOUND,
			"there is no container %.100s in the guest: it was not started, or it has ended",
			words[1]);
	for (size_t i = 0; i < ARRAY_SIZE(controls); i++)
		if (strcmp(words[0], controls[i].word) == 0)
			return controls[i].run(group, words + 2, err);
	return error_set(
		err, ERR_INVALID,
		"the guest's agent does not know the command %.100s for a container: this is a bug, or the guest's agent is of another version than microagent on the host",
		words[0]);
}

int role_container(int argc, char **argv)
{
	struct error err = {0};

	if (argc < 3)
		return 2;
	if (control(argv + 1, &err) == 0)
		return 0;
	fprintf(stderr, "%s\n", err.msg);
	return 1;
}
