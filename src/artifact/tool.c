/* SPDX-License-Identifier: MIT */
/*
 * Runs tools. The stdout and stderr of a tool are always pipes to this program, even if this
 * program runs on a terminal. So the user sees only the progress line, and one message if the tool
 * fails.
 */
#include "artifact/tool.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "artifact/progress.h"
#include "artifact/tool_calls.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/known_programs.h"
#include "base/path.h"
#include "base/platform/linux/isolate.h"
#include "base/proc.h"
#include "base/program.h"

#define STDERR_KEPT 700
#define LINE_BYTES 4096
#define CHUNK 16384
#define TICK_MS 200
/* The largest number of files, and of levels of directories, that a tool may make. Both numbers are
 * far larger than needed: an image has a few files for each layer, in three levels of
 * directories. */
#define ROOM_FILES 65536
#define ROOM_LEVELS 16
/* How much of the host's disk must stay free while a tool with a bound runs: the disk's size
 * divided by SPARE_PART, but at most SPARE_BYTES. */
#define SPARE_PART 64
#define SPARE_BYTES (UINT64_C(1) << 30)
/* How many nanoseconds a tool has to clean up after SIGTERM, and to exit after SIGKILL. */
#define END_NS (30 * NS_PER_S)

/* Headers that a build needs in addition to programs, and the packages that contain them. */
static const struct {
	const char *header, *package;
} headers[] = {
	{"gelf.h", "libelf-dev"},
};

static const char *package_of(const char *tool)
{
	const struct known_program *known = known_program_find(tool);

	for (size_t i = 0; i < ARRAY_SIZE(headers); i++)
		if (strcmp(headers[i].header, tool) == 0)
			return headers[i].package;
	return known && known->package ? known->package : tool;
}

static bool has_tool(const char *name)
{
	autofree char *found = NULL;
	char file[256];

	if (!strstr(name, ".h")) {
		found = program_in_path(name);
		return found != NULL;
	}
	snprintf(file, sizeof(file), "/usr/include/%s", name);
	return access(file, R_OK) == 0;
}

int tool_require(const char *what, const char *const *names, struct error *err)
{
	autobuf struct buf missing = BUF_INIT(0), install = BUF_INIT(0);

	for (; *names; names++) {
		if (has_tool(*names))
			continue;
		if (buf_printf(&missing, err, "%s%s", missing.len ? ", " : "", *names) < 0 ||
		    buf_printf(&install, err, " %s", package_of(*names)) < 0)
			return -1;
	}
	if (missing.len == 0)
		return 0;
	return error_set(err, ERR_NOT_FOUND, "%s needs %s: install it with `apt-get install%s`",
			 what, buf_string(&missing), buf_string(&install));
}

struct running {
	const struct tool *tool;
	struct proc proc;
	int out, errors; /* descriptors of the pipes; -1 after a pipe has ended */
	struct buf line, last;
};

/* Passes each whole line of stdout to the tool's function. A line longer than LINE_BYTES is passed
 * as several lines. */
static int take_tool_lines(struct running *r, const char *data, size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++) {
		if (data[i] != '\n' && buf_append(&r->line, data + i, 1, err) < 0)
			return -1;
		if (data[i] != '\n' && r->line.len < LINE_BYTES)
			continue;
		r->tool->line(r->tool->data, buf_string(&r->line));
		buf_consume(&r->line, r->line.len);
	}
	return 0;
}

static int pump_pipe(struct running *r, int *fd, struct error *err)
{
	char chunk[CHUNK];
	ssize_t n = read(*fd, chunk, sizeof(chunk));

	if (n < 0)
		return errno == EINTR ? 0 : error_errno(err, errno, "read");
	if (n == 0) {
		close(steal_fd(fd));
		return 0;
	}
	if (fd == &r->out) {
		if (r->tool->out)
			return buf_append(r->tool->out, chunk, (size_t)n, err);
		return r->tool->line ? take_tool_lines(r, chunk, (size_t)n, err) : 0;
	}
	if (buf_append(&r->last, chunk, (size_t)n, err) < 0)
		return -1;
	if (r->tool->errors && buf_append(r->tool->errors, chunk, (size_t)n, err) < 0)
		return -1;
	if (r->last.len > STDERR_KEPT)
		buf_consume(&r->last, r->last.len - STDERR_KEPT);
	return 0;
}

/* How many bytes and files a tool has made so far, counted while the tool runs. */
struct use {
	uint64_t bytes;
	size_t files;
};

static int count_use(int dir, unsigned level, struct use *use, struct error *err);

/* Adds a file and everything below it to the count. The tool may remove files meanwhile, so a file
 * that does not exist any more counts as nothing. */
static int count_entry(int dir, const char *name, unsigned level, struct use *use,
		       struct error *err)
{
	struct stat st;
	uint64_t stored;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	stored = (uint64_t)st.st_blocks * 512;
	use->bytes += (uint64_t)st.st_size > stored ? (uint64_t)st.st_size : stored;
	if (++use->files > ROOM_FILES)
		return error_set(
			err, ERR_INVALID,
			"the image or package unpacks to more than %d files, the most that microagent takes: name a smaller one",
			ROOM_FILES);
	if (!S_ISDIR(st.st_mode))
		return 0;
	if (level == ROOM_LEVELS)
		return error_set(
			err, ERR_INVALID,
			"the image or package unpacks to directories more than %d levels deep, the most that microagent takes: name another one",
			ROOM_LEVELS);
	autoclose int below = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (below >= 0)
		return count_use(below, level + 1, use, err);
	return errno == EACCES ? error_errno(err, errno, "directories of a tool") : 0;
}

static int count_use(int dir, unsigned level, struct use *use, struct error *err)
{
	int own = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *d = own < 0 ? NULL : fdopendir(own);
	const struct dirent *entry;

	if (!d && own >= 0)
		close(own);
	if (!d)
		return error_errno(err, errno, "directories of a tool");
	while ((entry = readdir(d)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
		    count_entry(dir, entry->d_name, level, use, err) < 0)
			return -1;
	return 0;
}

/* Checks that the disk has enough free space, because a tool that reads a hostile archive must not
 * fill the host's disk. */
static int check_disk(int dir, struct error *err)
{
	struct statvfs disk;
	uint64_t spare;

	if (fstatvfs(dir, &disk) < 0)
		return error_errno(err, errno, "room on the disk");
	spare = (uint64_t)disk.f_blocks * disk.f_frsize / SPARE_PART;
	if (spare > SPARE_BYTES)
		spare = SPARE_BYTES;
	return (uint64_t)disk.f_bavail * disk.f_frsize >= spare
		       ? 0
		       : error_set(
				 err, ERR_IO,
				 "this host's disk is full: make room on it, because microagent always leaves free %llu MiB",
				 (unsigned long long)(spare >> 20));
}

static int check_room(const struct tool_room *room, struct error *err)
{
	struct use use = {0};

	for (size_t i = 0; room && i < ARRAY_SIZE(room->dirs); i++)
		if (check_disk(room->dirs[i], err) < 0 ||
		    count_use(room->dirs[i], 0, &use, err) < 0)
			return -1;
	return !room || use.bytes < room->bytes ? 0 : tool_room_exceeded(room->bytes, err);
}

int tool_room_exceeded(uint64_t bytes, struct error *err)
{
	error_set(err, ERR_INVALID,
		  "fetching and unpacking the image takes more than %llu MiB of disk",
		  (unsigned long long)(bytes >> 20));
	return error_reason(err, REASON_IMAGE_TOO_SMALL, "");
}

/* Reads until both pipes have ended, or until the tool has exited. The exit is enough, because a
 * child of the tool can keep a pipe open. */
static int follow_tool(struct running *r, struct error *err)
{
	while (r->out >= 0 || r->errors >= 0) {
		struct pollfd fds[] = {{.fd = r->out, .events = POLLIN},
				       {.fd = r->errors, .events = POLLIN},
				       {.fd = r->proc.pidfd, .events = POLLIN}};
		int n = poll(fds, ARRAY_SIZE(fds), TICK_MS);

		if (artifact_check_signal(err) < 0 || check_room(r->tool->room, err) < 0)
			return -1;
		if (n < 0 && errno != EINTR)
			return error_errno(err, errno, "poll");
		progress_draw();
		if (n <= 0)
			continue;
		if (fds[0].revents && pump_pipe(r, &r->out, err) < 0)
			return -1;
		if (fds[1].revents && pump_pipe(r, &r->errors, err) < 0)
			return -1;
		if (fds[2].revents && !fds[0].revents && !fds[1].revents)
			break;
	}
	return 0;
}

/* Returns true if tool->env sets the variable that is named in "NAME=VALUE". */
static bool is_replaced(const struct tool *tool, const char *variable)
{
	size_t len = strcspn(variable, "=") + 1;

	for (size_t i = 0; tool->env && tool->env[i]; i++)
		if (strncmp(tool->env[i], variable, len) == 0)
			return true;
	return false;
}

/* Returns the environment of this process, changed by the variables in tool->env. The caller frees
 * the array. */
static const char **environment(const struct tool *tool, struct error *err)
{
	size_t room = 1, n = 0;
	const char **env;

	for (size_t i = 0; environ[i]; i++)
		room++;
	for (size_t i = 0; tool->env && tool->env[i]; i++)
		room++;
	env = calloc(room, sizeof(*env));
	if (!env) {
		error_errno(err, ENOMEM, "environment");
		return NULL;
	}
	for (size_t i = 0; tool->env && tool->env[i]; i++)
		env[n++] = tool->env[i];
	for (size_t i = 0; environ[i] && !tool->lone_env; i++)
		if (!is_replaced(tool, environ[i]))
			env[n++] = environ[i];
	return env;
}

/* Returns the tool's argv. For an idle tool, `nice -n 19` comes first. The caller frees the array.
 */
static const char **tool_arguments(const struct tool *tool, struct error *err)
{
	size_t n = 0, at = 0;
	const char **argv;

	while (tool->argv[n])
		n++;
	argv = calloc(n + 4, sizeof(*argv));
	if (!argv) {
		error_errno(err, ENOMEM, "arguments");
		return NULL;
	}
	if (tool->idle) {
		argv[at++] = "nice";
		argv[at++] = "-n";
		argv[at++] = "19";
	}
	memcpy(argv + at, tool->argv, n * sizeof(*argv));
	return argv;
}

/* The host's directories of programs and libraries. If /usr is merged, most of these directories
 * are links into /usr. */
static const char *const system_dirs[] = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"};

/* How the next tool is confined. The child that starts the tool reads these values. */
static struct {
	const char *dir;
	bool writes;
	const char *own; /* path of the directory with the tool's program */
} company;

/* The largest size in bytes of a single file that the next tool may make; 0: no bound. */
static rlim_t longest_file;

static void add_tree(struct isolate_reach *reach, struct isolate_tree *trees, const char *path,
		     bool writable)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0)
		trees[reach->tree_count++] = (struct isolate_tree){
			.fd = fd, .writable = writable, .executable = !writable};
}

/* Confines the tool. Called in the child before execve(). */
static int confine_tool(struct error *err)
{
	struct isolate_tree trees[ARRAY_SIZE(system_dirs) + 2];
	struct isolate_reach reach = {.trees = trees};
	struct error why = {0};
	struct rlimit most;

	if (getrlimit(RLIMIT_FSIZE, &most) < 0)
		return error_errno(err, errno, "bound of files");
	if (longest_file && longest_file < most.rlim_max) /* the user may already have set a lower
							   * limit */
		most.rlim_max = longest_file;
	if (most.rlim_cur > most.rlim_max)
		most.rlim_cur = most.rlim_max;
	if (setrlimit(RLIMIT_FSIZE, &most) < 0)
		return error_errno(err, errno, "bound of files");
	if (!company.dir)
		return 0;
	/* The tool reads bytes from outside, so it may open only the files that it needs. */
	for (size_t i = 0; i < ARRAY_SIZE(system_dirs); i++)
		add_tree(&reach, trees, system_dirs[i], false);
	add_tree(&reach, trees, company.own, false);
	add_tree(&reach, trees, company.dir, company.writes);
	if (isolate_capabilities(err) < 0)
		return -1;
	return isolate_landlock(&reach, &why) == 0 || why.code == ERR_UNAVAILABLE
		       ? 0
		       : error_copy(err, &why);
}

static int start_tool(struct running *r, struct error *err)
{
	autofree const char **env = environment(r->tool, err);
	autofree const char **argv = env ? tool_arguments(r->tool, err) : NULL;
	autofree char *program = NULL; /* the path of the program; below, it is cut after the name
				        * of the program's directory */
	autoclose int filter = -1;
	int out[2], errors[2];

	if (!argv)
		return -1;
	company.dir = r->tool->alone_with;
	if (company.dir) {
		const char *name = r->tool->argv[0];
		char *slash;

		program = strchr(name, '/') ? strdup(name) : program_in_path(name);
		slash = program ? strrchr(program, '/') : NULL;
		if (!slash)
			return error_set(err, ERR_NOT_FOUND,
					 "the program %s is needed, and is not in PATH: install it",
					 name);
		*slash = '\0';
		company.writes = r->tool->writes;
		company.own = *program ? program : "/";
		if (tool_calls_filter(TOOL_CALLS_ALONE, &filter, err) < 0)
			return -1;
	}
	if (fd_pipe(out, err) < 0)
		return -1;
	r->out = out[0];
	autoclose int out_write = out[1];
	if (fd_pipe(errors, err) < 0)
		return -1;
	r->errors = errors[0];
	autoclose int errors_write = errors[1];
	struct proc_fd fds[5] = {{out_write, 1}, {errors_write, 2}};
	size_t nfds = 2;
	if (r->tool->stdin_fd > 0)
		fds[nfds++] = (struct proc_fd){r->tool->stdin_fd, 0};
	if (r->tool->hold > 0)
		fds[nfds++] = (struct proc_fd){r->tool->hold, TOOL_HOLD_FD};
	if (r->tool->filter > 0)
		fds[nfds++] = (struct proc_fd){r->tool->filter, TOOL_FILTER_FD};
	struct proc_spec spec = {.argv = argv,
				 .envp = env,
				 .fds = fds,
				 .nfds = nfds,
				 .die_with_parent = true,
				 .new_session = true,
				 .stage = r->tool->stage,
				 .confine = confine_tool,
				 .filter = filter,
				 .cwd = r->tool->cwd};
	longest_file = r->tool->room ? r->tool->room->bytes : 0;
	return proc_spawn(&spec, &r->proc, err);
}

/* Returns true if all processes of the tool exit before the deadline. Each of these processes has
 * the pipes open, so the pipes end when the last process exits. */
static bool all_ended(struct running *r, uint64_t deadline_ns)
{
	struct error ignored;

	while (r->out >= 0 || r->errors >= 0) {
		struct pollfd fds[] = {{.fd = r->out, .events = POLLIN},
				       {.fd = r->errors, .events = POLLIN}};

		if (clock_mono_ns() > deadline_ns)
			return false;
		progress_draw();
		if (poll(fds, ARRAY_SIZE(fds), TICK_MS) <= 0)
			continue;
		if ((fds[0].revents && pump_pipe(r, &r->out, &ignored) < 0) ||
		    (fds[1].revents && pump_pipe(r, &r->errors, &ignored) < 0))
			return false;
	}
	return true;
}

/*
 * Ends the whole process group of the tool, as Ctrl-C on a terminal does, because mmdebstrap and
 * apt do not end their children. SIGTERM comes first, so that the processes can clean up. The
 * number of the group is the pid of its leader, and no other process or group can get this number
 * before the leader is reaped.
 */
static void end_tool(struct running *r)
{
	if (r->proc.pid > 0 && (r->tool->sealed || kill(-r->proc.pid, SIGTERM) < 0 ||
				!all_ended(r, clock_mono_ns() + END_NS))) {
		kill(-r->proc.pid, SIGKILL);
		(void)all_ended(r, clock_mono_ns() + END_NS);
	}
	proc_end(&r->proc);
}

/* Returns the stored end of the tool's stderr as one line. Control bytes become blanks. */
static const char *last_stderr(struct buf *b)
{
	while (b->len > 0 && b->data[b->start + b->len - 1] <= ' ')
		b->len--;
	for (size_t i = 0; i < b->len; i++)
		if (b->data[b->start + i] < ' ' || b->data[b->start + i] == 0x7f)
			b->data[b->start + i] = ' ';
	return b->len ? buf_string(b) : "it printed no message";
}

static const char *name_of_tool(const struct tool *tool)
{
	return tool->name ? tool->name : tool->argv[0];
}

static int run_tool(struct running *r, struct error *err)
{
	int code;

	if (follow_tool(r, err) < 0) {
		end_tool(r);
		return -1;
	}
	if (proc_wait(&r->proc, UINT64_MAX, &code, err) < 0)
		return -1;
	if (r->line.len > 0 && r->tool->line)
		r->tool->line(r->tool->data, buf_string(&r->line));
	/* If a file becomes too long, the kernel kills the tool, perhaps before this program has
	 * counted the bytes. So the bytes are counted again after the tool has exited. */
	if (check_room(r->tool->room, err) < 0)
		return -1;
	if (code != 0)
		return error_set(err, ERR_IO, "%s failed with exit code %d: %s",
				 name_of_tool(r->tool), code, last_stderr(&r->last));
	return 0;
}

int tool_run(const struct tool *tool, struct error *err)
{
	const char *const names[] = {tool->argv[0], NULL};
	struct running r = {.tool = tool, .proc = PROC_NONE, .out = -1, .errors = -1};
	int result;

	assert(tool->argv[0]);
	if (!strchr(tool->argv[0], '/')) {
		/* A program that is not in the list of known programs is not run. For a program in
		 * this list, the rules for shares check that no guest can write to the program's
		 * file (store/share/own.c). */
		if (!known_program_find(tool->argv[0]))
			return error_set(
				err, ERR_INTERNAL,
				"%s is not in microagent's list of programs: this is a bug of microagent",
				tool->argv[0]);
		if (tool_require("this", names, err) < 0)
			return -1;
	}
	result = start_tool(&r, err);
	if (result == 0)
		result = run_tool(&r, err);
	else
		error_prefix(err, "%s", name_of_tool(tool));
	cleanup_close(&r.out);
	cleanup_close(&r.errors);
	buf_free(&r.line);
	buf_free(&r.last);
	return result;
}
