/* SPDX-License-Identifier: MIT */
/*
 * Runs a reader. Before it reads an archive, a reader gives up these rights, whichever user runs
 * it:
 *
 *   descriptors   all except stderr, its socket, and the descriptors of its work.
 *   core dumps    RLIMIT_CORE is 0.
 *   memory        RLIMIT_DATA, because a few bytes can demand gigabytes for a dictionary or a map.
 *   capabilities  all sets are empty, also the bounding set; no_new_privs is set.
 *   files         Landlock: the reader can open only files in its directory.
 *   system calls  only the calls in the table below: it can start no program or process, send no
 *                 signal, and open no socket.
 *
 * On a kernel without Landlock, the reader can open all files that its user can open. The other
 * measures still apply.
 *
 * The parent and the reader, its child, exchange messages over a socket. A message of the reader
 * consists of a kind and bytes. The parent answers a question by one byte, which always means yes.
 * To refuse, the parent kills the reader.
 */
#include "artifact/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "artifact/layer.h"
#include "artifact/progress.h"
#include "artifact/tar.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/platform/linux/isolate.h"
#include "base/proc.h"

#define CHUNK 32768
#define TICK_MS 200
/* The exit code of a process in which libarchive gets no memory for a map or a string. libarchive
 * first writes a line to stderr (__archive_errx() in its archive_util.c). */
#define OUT_OF_MEMORY 1
#define STATM_DATA 6 /* position in /proc/self/statm of the number of pages for data and stack */

enum { PART = 1, ASKED, DONE, FAILED };

struct note {
	uint32_t kind;
	char bytes[CHUNK];
};
#define NOTE_HEAD offsetof(struct note, bytes)

static int reader_socket = -1; /* the child's end of the socket; -1 in the parent */

/* --- the child ------------------------------------------------------------------------------- */

static const struct isolate_syscall allowed[] = {
	{.number = SCMP_SYS(read), .reason = "the archive; contents that go into the image"},
	{.number = SCMP_SYS(pread64), .reason = "the same; blocks of the file system"},
	{.number = SCMP_SYS(write), .reason = "the progress on a terminal"},
	{.number = SCMP_SYS(pwrite64), .reason = "contents; blocks of the file system"},
	{.number = SCMP_SYS(lseek), .reason = "what of an archive is passed over; holes"},
	{.number = SCMP_SYS(sendmsg), .reason = "what is handed back"},
	{.number = SCMP_SYS(recvfrom), .reason = "the answer to a question"},
	{.number = SCMP_SYS(openat), .reason = "layers, contents, the image"},
	{.number = SCMP_SYS(open), .reason = "the same, by the library of file systems"},
	{.number = SCMP_SYS(mkdirat), .reason = "the directory of the contents"},
	{.number = SCMP_SYS(unlinkat), .reason = "contents that are in the image, or replaced"},
	{.number = SCMP_SYS(unlink), .reason = "layers that are unpacked"},
	{.number = SCMP_SYS(close), .reason = "files end"},
	ISOLATE_FCNTL,
	{.number = SCMP_SYS(fstat), .reason = "sizes"},
	{.number = SCMP_SYS(newfstatat), .reason = "the same"},
	{.number = SCMP_SYS(stat), .reason = "the same"},
	{.number = SCMP_SYS(statx), .reason = "the same where the C library has only this"},
	{.number = SCMP_SYS(ftruncate), .reason = "contents that end in a hole"},
	{.number = SCMP_SYS(fallocate), .reason = "blocks of zeros"},
	{.number = SCMP_SYS(fadvise64), .reason = "blocks that are read once"},
	{.number = SCMP_SYS(fsync), .reason = "the library's end of a file system"},
	{.number = SCMP_SYS(ioctl),
	 .reason = "whether the image is a device that can be written",
	 .only = {{.arg = 1, .op = SCMP_CMP_EQ, .datum_a = BLKROGET}}},
	{.number = SCMP_SYS(ioctl),
	 .reason = "whether it is one that keeps zeros",
	 .only = {{.arg = 1, .op = SCMP_CMP_EQ, .datum_a = BLKDISCARDZEROES}}},
	{.number = SCMP_SYS(ioctl),
	 .reason = "whether there is a terminal for the progress",
	 .only = {{.arg = 1, .op = SCMP_CMP_EQ, .datum_a = TCGETS}}},
	{.number = SCMP_SYS(ioctl),
	 .reason = "how wide it is",
	 .only = {{.arg = 1, .op = SCMP_CMP_EQ, .datum_a = TIOCGWINSZ}}},

	{.number = SCMP_SYS(brk), .reason = "memory"},
	{.number = SCMP_SYS(mmap), .reason = "memory", .only = ISOLATE_NOT_EXECUTABLE},
	{.number = SCMP_SYS(mprotect), .reason = "memory", .only = ISOLATE_NOT_EXECUTABLE},
	{.number = SCMP_SYS(mremap), .reason = "memory"},
	{.number = SCMP_SYS(munmap), .reason = "memory"},
	{.number = SCMP_SYS(madvise), .reason = "memory that is given back"},
	{.number = SCMP_SYS(futex), .reason = "the C library's locks"},
	{.number = SCMP_SYS(getrandom), .reason = "the C library's memory"},
	{.number = SCMP_SYS(clock_gettime), .reason = "the time, where there is no vDSO"},
	{.number = SCMP_SYS(gettimeofday), .reason = "the same"},
	{.number = SCMP_SYS(time), .reason = "the same"},
	{.number = SCMP_SYS(getuid), .reason = "whether the environment is to be trusted"},
	{.number = SCMP_SYS(geteuid), .reason = "the same"},
	{.number = SCMP_SYS(getgid), .reason = "the same"},
	{.number = SCMP_SYS(getegid), .reason = "the same"},
	{.number = SCMP_SYS(prctl),
	 .reason = "the same",
	 .only = {{.arg = 0, .op = SCMP_CMP_EQ, .datum_a = PR_GET_DUMPABLE}}},
	{.number = SCMP_SYS(uname), .reason = "which file systems the kernel knows"},
	{.number = SCMP_SYS(restart_syscall), .reason = "a call after a stop and a continue"},
	{.number = SCMP_SYS(rt_sigprocmask), .reason = "signals"},
	{.number = SCMP_SYS(rt_sigreturn), .reason = "behind a signal"},
	{.number = SCMP_SYS(exit_group), .reason = "the end"},
};

static int send_note(uint32_t kind, const void *bytes, size_t len, struct error *err)
{
	struct iovec parts[] = {{&kind, sizeof(kind)}, {(void *)(uintptr_t)bytes, len}};
	const struct msghdr message = {.msg_iov = parts, .msg_iovlen = ARRAY_SIZE(parts)};
	ssize_t n;

	do
		n = sendmsg(reader_socket, &message, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? error_errno(err, errno, "answer") : 0;
}

int reader_ask(const void *asked, size_t len, struct error *err)
{
	char answer;
	ssize_t n;

	progress_clear(); /* the parent may show a progress line of its own while it answers the
			   * question */
	if (send_note(ASKED, asked, len, err) < 0)
		return -1;
	do
		n = recv(reader_socket, &answer, 1, 0);
	while (n < 0 && errno == EINTR && artifact_check_signal(err) == 0);
	return n == 1 ? 0 : error_set(err, ERR_UNAVAILABLE, "interrupted");
}

/* Bounds the memory of the reader. Memory that the process already has is added to the bound,
 * because it is from the parent or from a sanitizer, and not used by the archive. */
static int bound_reader_memory(struct error *err)
{
	autoclose int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	char text[128] = "", *at = text;
	rlim_t pages = 0;
	struct rlimit most;

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		return error_errno(err, errno, "/proc/self/statm");
	for (size_t i = 0; i < STATM_DATA; i++)
		pages = strtoul(at, &at, 10);
	if (pages == 0)
		return error_set(err, ERR_INTERNAL, "/proc/self/statm: %s", text);
	most.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) +
			((rlim_t)limit_get(LIMIT_ARCHIVE_MEMORY_MIB) << 20);
	most.rlim_max = most.rlim_cur;
	return setrlimit(RLIMIT_DATA, &most) < 0 ? error_errno(err, errno, "bound of memory") : 0;
}

static int confine_reader(const struct reader_work *work, pid_t parent, struct error *err)
{
	const struct isolate_tree tree = {.fd = work->dir, .writable = true};
	const struct isolate_reach reach = {.trees = &tree, .tree_count = work->dir >= 0};
	int keep[3] = {reader_socket};
	autoclose int none = -1;
	struct error why = {0};
	size_t n = 1;

	if (work->from >= 0)
		keep[n++] = work->from;
	if (work->dir >= 0)
		keep[n++] = work->dir;
	fd_close_others(keep, n);
	if (work->dir >= 0 && fchdir(work->dir) < 0)
		return error_errno(err, errno, "working directory");
	if (layer_prepare(err) < 0)
		return -1;
	/* stdin and stdout become /dev/null. stderr is not changed, because the progress line is
	 * drawn there. */
	none = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (none < 0 || dup2(none, STDIN_FILENO) < 0 || dup2(none, STDOUT_FILENO) < 0)
		return error_errno(err, errno, "/dev/null");
	close(steal_fd(&none));
	if (isolate_core_dumps(err) < 0 || bound_reader_memory(err) < 0 ||
	    isolate_capabilities(err) < 0)
		return -1;
	if (isolate_landlock(&reach, &why) < 0 && why.code != ERR_UNAVAILABLE)
		return error_copy(err, &why);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
		return error_set(
			err, ERR_CONFLICT,
			"the process that reads the archive is not needed any more, because the program that started it has ended");
	return isolate_syscalls(allowed, ARRAY_SIZE(allowed), err);
}

static int hand_back(const struct buf *out, struct error *err)
{
	for (size_t at = 0; at < out->len; at += CHUNK)
		if (send_note(PART, buf_bytes(out) + at,
			      out->len - at < CHUNK ? out->len - at : CHUNK, err) < 0)
			return -1;
	return send_note(DONE, "", 0, err);
}

static void live_as_reader(const struct reader_work *work, pid_t parent, struct buf *out)
	__attribute__((noreturn));
static void live_as_reader(const struct reader_work *work, pid_t parent, struct buf *out)
{
	struct error err = {0};
	bool done =
		confine_reader(work, parent, &err) == 0 && work->read(work->data, out, &err) == 0;

	progress_clear();
	if (!done || hand_back(out, &err) < 0)
		(void)send_note(FAILED, &err, sizeof(err), NULL);
	_exit(0);
}

/* --- the parent ------------------------------------------------------------------------------ */

/* Sets *err to the error that the child reports. The bytes are checked, because a hostile child can
 * send anything. */
static int take_failure(const struct note *note, size_t len, struct error *err)
{
	struct error told;

	if (len != sizeof(told))
		return error_set(
			err, ERR_INTERNAL,
			"the process that reads the archive sent a malformed answer: this is a bug, or the archive is made to attack its reader");
	memcpy(&told, note->bytes, sizeof(told));
	told.msg[sizeof(told.msg) - 1] = '\0';
	error_set(err, error_code_from_name(error_code_name(told.code)), "%s", told.msg);
	return told.reason == REASON_IMAGE_TOO_SMALL ? error_reason(err, told.reason, "") : -1;
}

/* Sets the error for a reader that has exited without an answer. If the kernel killed the reader
 * for a forbidden system call, there are two possible causes: the archive has taken the reader
 * over, or the table of system calls lacks a call that the work needs. */
static int reader_is_gone(struct proc *child, struct error *err)
{
	int code;

	if (proc_wait(child, UINT64_MAX, &code, err) < 0)
		return -1;
	if (code == 128 + SIGSYS)
		return error_set(
			err, ERR_INTERNAL,
			"the process that reads the archive made a forbidden system call and was killed: this is a bug, or the archive is made to attack its reader");
	if (code == OUT_OF_MEMORY)
		return tar_out_of_memory(err);
	return error_set(
		err, ERR_IO,
		"the process that reads the archive ended without an answer (exit code %d): this is a bug, or the process was killed from outside",
		code);
}

/* Handles a message of the reader. Returns 1 if the reader still works, 0 if it has finished its
 * work, or -1 with err set. */
static int take_note(const struct reader_work *work, int sock, struct proc *child, struct buf *out,
		     struct error *err)
{
	static struct note note;
	ssize_t n = recv(sock, &note, sizeof(note), MSG_DONTWAIT);
	size_t len = n > (ssize_t)NOTE_HEAD ? (size_t)n - NOTE_HEAD : 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 1;
	if (n < (ssize_t)NOTE_HEAD)
		return reader_is_gone(child, err);
	if (note.kind == DONE)
		return 0;
	if (note.kind == PART && out)
		return buf_append(out, note.bytes, len, err) < 0 ? -1 : 1;
	if (note.kind == ASKED) {
		if (!work->serve || len > READER_ASKED_MAX)
			return error_set(
				err, ERR_INTERNAL,
				"the process that reads the archive sent a malformed answer: this is a bug, or the archive is made to attack its reader");
		if (work->serve(work->data, note.bytes, len, err) < 0)
			return -1;
		if (send(sock, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			return error_errno(err, errno, "the reader of archives");
		return 1;
	}
	return take_failure(&note, note.kind == FAILED ? len : 0, err);
}

static int follow_reader(const struct reader_work *work, int sock, struct proc *child,
			 struct buf *out, struct error *err)
{
	struct pollfd wait = {.fd = sock, .events = POLLIN};
	int more = 1;

	while (more > 0) {
		if (artifact_check_signal(err) < 0)
			return -1;
		if (poll(&wait, 1, TICK_MS) < 0 && errno != EINTR)
			return error_errno(err, errno, "poll");
		if (wait.revents)
			more = take_note(work, sock, child, out, err);
		wait.revents = 0;
	}
	return more;
}

int reader_run(const struct reader_work *work, struct buf *out, struct error *err)
{
	autobuf struct buf back = BUF_INIT(out ? out->limit : 0);
	struct proc child = PROC_NONE;
	pid_t parent = getpid();
	int ends[2], result;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, errno, "socket pair");
	autoclose int ours = ends[0];
	autoclose int theirs = ends[1];
	child.pid = fork();
	if (child.pid < 0)
		return error_errno(err, errno, "fork");
	if (child.pid == 0) {
		reader_socket = theirs;
		live_as_reader(work, parent, &back);
	}
	close(steal_fd(&theirs));
	if (proc_adopt(&child, err) < 0)
		return -1;
	result = follow_reader(work, ours, &child, out, err);
	proc_end(&child);
	return result;
}

/* --- finding one file in an archive ---------------------------------------------------------- */

struct looking {
	int fd;
	uint64_t most;
	const char *name;
};

static int look_in_archive(void *data, struct buf *out, struct error *err)
{
	const struct looking *l = data;
	struct tar_bound bound = {.most = l->most};
	auto_tar struct tar_reading tar = {0};
	int there = tar_open(&tar, l->fd, &bound, err) < 0 ? -1 : tar_has(&tar, l->name, err);

	return there > 0 ? buf_append(out, "", 1, err) : there;
}

static int check_archive(void *data, struct buf *out, struct error *err)
{
	const struct looking *l = data;
	struct tar_bound bound = {.most = l->most};
	auto_tar struct tar_reading tar = {0};

	(void)out;
	return tar_open(&tar, l->fd, &bound, err) < 0 ? -1 : tar_check_files(&tar, err);
}

static int read_in_archive(void *data, struct buf *out, struct error *err)
{
	const struct looking *l = data;
	struct tar_bound bound = {.most = l->most};
	auto_tar struct tar_reading tar = {0};

	return tar_open(&tar, l->fd, &bound, err) < 0 ? -1 : tar_take(&tar, l->name, out, err);
}

static int look_inside(const char *path, struct looking *looking,
		       int (*read)(void *data, struct buf *out, struct error *err), struct buf *out,
		       struct error *err)
{
	autoclose int fd = path_open_file(path, err);
	const struct reader_work work = {.read = read, .data = looking, .from = fd, .dir = -1};

	if (fd < 0)
		return -1;
	looking->fd = fd;
	return reader_run(&work, out, err);
}

int reader_has(const char *path, uint64_t most, const char *name, struct error *err)
{
	autobuf struct buf there = BUF_INIT(1);
	struct looking looking = {.most = most, .name = name};

	return look_inside(path, &looking, look_in_archive, &there, err) < 0 ? -1 : there.len > 0;
}

int reader_check_files(const char *path, uint64_t most, struct error *err)
{
	struct looking looking = {.most = most};

	return look_inside(path, &looking, check_archive, NULL, err);
}

int reader_take(const char *path, uint64_t most, const char *name, struct buf *out,
		struct error *err)
{
	struct looking looking = {.most = most, .name = name};

	return look_inside(path, &looking, read_in_archive, out, err);
}
