/* SPDX-License-Identifier: MIT */
/*
 * Makes a cell. bwrap is started with an info pipe and a hold pipe. bwrap clones a process that
 * becomes the program, and writes the pid of the clone, as this process sees it, to the info pipe.
 * The cloned process makes the cell's root and then waits on the hold pipe. During that time this
 * process opens the pidfd, and then lets the program run. So the program never runs before this
 * process has its pidfd.
 *
 * If this process ends, bwrap is killed by its parent-death signal, and the program ends with
 * bwrap. proc_spawn() must set this signal after the change of user, since that change clears
 * it.
 */
#include "backend/parts/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/parts/cell_args.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/platform/linux/isolate.h"
#include "base/platform/linux/proc_stage.h"
#include "base/platform/process.h"

#define FDS_MAX 48 /* the most descriptors of one cell, including those of its data files */
#define READABLE_MAX 40

const char *const cell_environment[] = {"PATH=/usr/bin:/bin", "HOME=/", NULL};

bool cell_id_is_mapped(const char *map, unsigned long id)
{
	unsigned long n[3]; /* the numbers of the line: first id inside, first id outside, count */
	char *end;

	for (;;) {
		for (int i = 0; i < 3; i++, map = end) {
			n[i] = strtoul(map, &end, 10);
			if (end == map)
				return false;
		}
		if (id >= n[0] && id - n[0] < n[2])
			return true;
	}
}

static bool is_mapped_in(const char *file, unsigned long id)
{
	char map[4096];
	autofile FILE *f = fopen(file, "re");
	size_t n = f ? fread(map, 1, sizeof(map) - 1, f) : 0;

	map[n] = '\0';
	return cell_id_is_mapped(map, id);
}

bool cell_id_is_usable(unsigned long id)
{
	return is_mapped_in("/proc/self/uid_map", id) && is_mapped_in("/proc/self/gid_map", id);
}

static pid_t number_of_cells;

void cell_number(pid_t number)
{
	number_of_cells = number;
}

uid_t cell_id(void)
{
	pid_t number = number_of_cells ? number_of_cells : getpid();
	unsigned long own = CELL_FIRST_ID + (unsigned long)number;

	if (geteuid() != 0)
		return 0;
	if (cell_id_is_usable(own))
		return (uid_t)own;
	return cell_id_is_usable(CELL_NOBODY) ? CELL_NOBODY : 0;
}

/* Finds the group that gives access to the device. Returns 1 if there is such a group, else 0. If
 * root makes the cell, this is the only supplementary group that the cell keeps. */
static size_t device_group(const char *device, gid_t *group)
{
	struct stat st;

	if (!device || stat(device, &st) < 0 || st.st_gid == 0)
		return 0;
	*group = st.st_gid;
	return 1;
}

/* --- making ---------------------------------------------------------------------------------- */

static int spawn_cell(const struct cell_spec *spec, const char *const *argv,
		      const struct proc_fd *fds, size_t nfds, struct cell *cell, struct error *err)
{
	__attribute__((cleanup(proc_stage_free))) struct proc_stage stage = {0};
	gid_t group;
	struct proc_spec proc = {
		.argv = argv,
		.envp = cell_environment,
		.fds = fds,
		.nfds = nfds,
		.die_with_parent = true,
		.new_session = true,
		.uid = cell_id(),
		.gid = (gid_t)cell_id(),
		.groups = &group,
		.ngroups = device_group(spec->device, &group),
		.cwd = "/",
		.confine = isolate_tcp,
		.filter = spec->bwrap ? 0 : spec->filter,
	};

	for (size_t i = 0; i < spec->nfiles; i++)
		if (proc_stage_add(&stage, spec->files[i].fd, spec->files[i].read_only, cell_id(),
				   err) < 0)
			return error_prefix(err, "%s", spec->files[i].path);
	/* On some hosts only root may open the host's own node of this device. So the cell gets a
	 * node that the cell's user may open. */
	if (spec->tun && cell_id() && proc_stage_add_device(&stage, CELL_TUN, cell_id(), err) < 0)
		return -1;
	proc.stage = stage.count ? &stage : NULL;
	return proc_spawn(&proc, &cell->monitor, err);
}

/*
 * A copy of a spec in which each path that the cell's user cannot reach is replaced by a
 * descriptor. The cell's user cannot reach a path if only the owner may enter one of its
 * directories, for example a program in root's home. bwrap opens paths as that user. So these files
 * must go into the cell by descriptor.
 */
struct unreachable {
	struct cell_spec spec; /* the spec, which has only paths that bwrap can reach */
	struct cell_file files[PROC_STAGE_MAX];
	const char *readable[READABLE_MAX + 1];
};

static void unreachable_close(struct unreachable *u, size_t own)
{
	for (size_t i = own; i < u->spec.nfiles; i++)
		close(u->files[i].fd);
}

bool cell_is_reachable(const char *path)
{
	char name[PATH_MAX];
	struct stat st;

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		size_t len = slash == path ? 1 : (size_t)(slash - path);

		if (len >= sizeof(name))
			return true;
		memcpy(name, path, len);
		name[len] = '\0';
		if (stat(name, &st) == 0 && !(st.st_mode & S_IXOTH))
			return false;
	}
	return true;
}

/* Adds `path` to the files of the cell if the cell's user cannot reach it. Returns 1 if `path` was
 * added, 0 if bwrap can open it, or -1 with an error. */
static int take_unreachable(struct unreachable *u, const char *path, struct error *err)
{
	int fd;

	if (cell_is_reachable(path))
		return 0;
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	if (u->spec.nfiles == ARRAY_SIZE(u->files)) {
		close(fd);
		return error_set(
			err, ERR_INVALID,
			"the cell has room for %zu files of the host, but the machine needs more: leave out some disks or bundles",
			ARRAY_SIZE(u->files));
	}
	u->files[u->spec.nfiles++] = (struct cell_file){fd, path, true};
	return 1;
}

static int find_unreachable(const struct cell_spec *spec, struct unreachable *u, struct error *err)
{
	size_t left = 0;
	int taken;

	u->spec = *spec;
	for (size_t i = 0; i < spec->nfiles; i++)
		u->files[i] = spec->files[i];
	u->spec.files = u->files;
	u->spec.readable = u->readable;
	taken = take_unreachable(u, spec->program, err);
	if (taken > 0)
		u->spec.program = NULL;
	for (const char *const *path = spec->readable; path && *path && taken >= 0; path++) {
		taken = take_unreachable(u, *path, err);
		if (taken == 0 && left < READABLE_MAX)
			u->readable[left++] = *path;
	}
	u->readable[left] = NULL;
	if (taken >= 0)
		return 0;
	unreachable_close(u, spec->nfiles);
	return -1;
}

static int start_bwrap(const struct cell_spec *spec, struct cell *cell, struct error *err)
{
	struct cell_numbers numbers = cell_numbers(spec);
	struct proc_fd fds[FDS_MAX];
	autoargv struct argv args = ARGV_INIT;
	autoclose int info = -1;
	autoclose int hold = -1;
	int ends[2];
	size_t n = 0;

	cell_arguments(spec, &args);
	const char *const *argv = argv_finish(&args, err);
	if (!argv)
		return -1;
	if (spec->nfds + spec->ndata + 3 > ARRAY_SIZE(fds))
		return error_set(
			err, ERR_INTERNAL,
			"the machine needs more descriptors in its cell than the cell has room for: this is a bug of microagent");
	/* This process keeps its ends of the pipes in *cell, and the child gets the other ends. The
	 * hold "pipe" is a socket, so that a write causes no SIGPIPE if the child has ended. */
	if (fd_pipe(ends, err) < 0)
		return -1;
	cell->info_fd = ends[0];
	info = ends[1];
	if (fd_socketpair(ends, err) < 0)
		return -1;
	cell->hold_fd = ends[0];
	hold = ends[1];
	for (; n < spec->nfds; n++)
		fds[n] = spec->fds[n];
	for (size_t i = 0; i < spec->ndata; i++) {
		if (lseek(spec->data[i].fd, 0, SEEK_SET) < 0)
			return error_errno(err, errno, "cell: %s", spec->data[i].path);
		fds[n++] = (struct proc_fd){spec->data[i].fd, numbers.data + (int)i};
	}
	fds[n++] = (struct proc_fd){info, numbers.info};
	fds[n++] = (struct proc_fd){hold, numbers.hold};
	if (spec->filter)
		fds[n++] = (struct proc_fd){spec->filter, numbers.filter};
	cell->confined = true;
	return spawn_cell(spec, argv, fds, n, cell, err);
}

static int spawn_bwrap(const struct cell_spec *spec, struct cell *cell, struct error *err)
{
	struct unreachable u;
	int status;

	/* A cell without its own user id runs as the user of this process. So the cell reaches the
	 * same paths as this process. */
	if (!cell_id())
		return start_bwrap(spec, cell, err);
	if (find_unreachable(spec, &u, err) < 0)
		return -1;
	status = start_bwrap(&u.spec, cell, err);
	unreachable_close(&u, spec->nfiles);
	return status;
}

int cell_spawn(const struct cell_spec *spec, struct cell *out, struct error *err)
{
	struct cell cell = CELL_NONE;
	int status;

	if (spec->bwrap) {
		status = spawn_bwrap(spec, &cell, err);
	} else {
		/* The config wants no cell. The program is a child of this process, and runs at
		 * once. */
		status = spawn_cell(spec, spec->argv, spec->fds, spec->nfds, &cell, err);
		if (status == 0) {
			cell.pid = cell.monitor.pid;
			cell.pidfd = pidfd_open(cell.pid, 0);
			if (cell.pidfd < 0)
				status = error_errno(err, errno, "pidfd of %s", spec->program);
		}
	}
	if (status < 0) {
		cell_end(&cell);
		return -1;
	}
	*out = cell;
	return 0;
}

/* Reads the pid from bwrap's record {"child-pid": N, ...}. If bwrap has failed before it writes the
 * record, the pipe ends, and the function fails. */
static int read_info(int fd, pid_t *pid, struct error *err)
{
	autobuf struct buf text = BUF_INIT(4096);
	uint64_t deadline = limit_deadline(LIMIT_CELL_MS);
	int64_t value;

	while (!memchr(buf_bytes(&text), '}', text.len)) {
		uint8_t *room = buf_reserve(&text, 512, err);
		if (!room || fd_wait(fd, POLLIN, deadline, err) < 0)
			return -1;
		ssize_t n = read(fd, room, 512);
		if (n < 0 && errno != EINTR)
			return error_errno(err, errno, "bwrap's answer");
		if (n == 0)
			return error_set(
				err, ERR_IO,
				"bwrap could not make a cell: its own message is on stderr, or in supervisor.log of the workspace");
		buf_commit(&text, n > 0 ? (size_t)n : 0);
	}
	json_auto_t *doc = json_load_strict(buf_bytes(&text), text.len, err);
	if (!doc ||
	    json_get_int(doc, "bwrap", "child-pid", JSON_REQUIRED, 1, INT32_MAX, &value, err) < 0)
		return -1;
	*pid = (pid_t)value;
	return 0;
}

int cell_await(struct cell *cell, struct error *err)
{
	pid_t pid = 0;

	if (!cell->confined || cell->pid)
		return 0;
	if (read_info(cell->info_fd, &pid, err) < 0)
		return -1;
	/* The process waits on the hold pipe, so it still has this pid. But if the process has
	 * failed and was reaped, another process may have the pid. Such a process has another
	 * parent. */
	autoclose int pidfd = pidfd_open(pid, 0);
	if (pidfd < 0 || process_parent(pid) != cell->monitor.pid)
		return error_set(
			err, ERR_IO,
			"bwrap could not make a cell: its own message is on stderr, or in supervisor.log of the workspace");
	cell->pid = pid;
	cell->pidfd = steal_fd(&pidfd);
	close(steal_fd(&cell->info_fd));
	return 0;
}

int cell_release(struct cell *cell, struct error *err)
{
	if (!cell->confined)
		return 0;
	if (cell_await(cell, err) < 0)
		return -1;
	autoclose int hold = steal_fd(&cell->hold_fd);
	/* A failure of send() is ignored. Such a failure means that the cell has failed after
	 * cell_await(). In that case the cell's processes end, and the watches of the loop notice
	 * that. */
	(void)!send(hold, "", 1, MSG_NOSIGNAL);
	return 0;
}

/* --- ending ---------------------------------------------------------------------------------- */

void cell_kill(const struct cell *cell)
{
	if (cell->pidfd >= 0)
		(void)proc_kill(&(struct proc){cell->pid, cell->pidfd}, NULL);
	else if (cell->monitor.pid)
		(void)proc_kill(&cell->monitor, NULL);
}

void cell_end(struct cell *cell)
{
	uint64_t deadline = limit_deadline(LIMIT_KILL_MS);
	struct error ignored;
	int code;

	cell_kill(cell);
	if (cell->pidfd >= 0)
		fd_wait(cell->pidfd, POLLIN, deadline, &ignored);
	if (cell->monitor.pid)
		proc_wait(&cell->monitor, deadline, &code, &ignored);
	proc_end(&cell->monitor);
	cleanup_close(&cell->pidfd);
	cleanup_close(&cell->info_fd);
	cleanup_close(&cell->hold_fd);
	*cell = (struct cell)CELL_NONE;
}
