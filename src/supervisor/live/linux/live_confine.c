/* SPDX-License-Identifier: MIT */
/*
 * Gives up the rights of a live supervisor before it reads the first byte of its guest, whichever
 * user runs it. These are the stages:
 *
 *   capabilities  All sets are empty, also the bounding set; no_new_privs is set.
 *   files         The supervisor has its own root directory, and Landlock in it. It can write the
 *                 workspace's directory, and read its own directory in /proc. No other file of the
 *                 host has a path there. Otherwise a root without capabilities could still
 *                 write to /etc. The broker appends to the security log. If no namespaces can be
 *                 made, there is only Landlock. If the kernel has no Landlock, there is only the
 *                 root directory.
 *   network       The system call filter lets no socket be made, bound or connected. The broker
 *                 begins the connections to declared targets.
 *   system calls  The filter allows only the calls of the table below. None of them makes a
 *                 process or a socket, sends a signal or executes a program.
 *
 * The supervisor keeps its open descriptors: its listeners, the VM's channels, disks (for their
 * size and their quota), and the descriptors by which it watches the host. The broker does
 * everything else that the supervisor needs (live_broker.c).
 *
 * There are two protections of files: the root directory and Landlock. runtime.json says which of
 * them the supervisor has. If the supervisor does not have its own root directory, supervisor.log
 * says why. If it has neither of the two, only the other stages protect the host.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/platform/linux/isolate.h"
#include "supervisor/live/channels.h"
#include "supervisor/live/live.h"

#define OWN_PROCESS "/proc/self"
/* Functions of base/platform open descriptors by paths in this directory, so it must be
 * readable. */
#define OWN_THREAD "/proc/thread-self"
#define PLACE_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)

/* The conditions under which setsockopt() is allowed for one option. SO_PASSRIGHTS must not be
 * allowed: with it a socket could accept descriptors again (live_broker.c). */
#define OPTION(at, name)                                               \
	{                                                              \
		{.arg = 1, .op = SCMP_CMP_EQ, .datum_a = (at)},        \
		{                                                      \
			.arg = 2, .op = SCMP_CMP_EQ, .datum_a = (name) \
		}                                                      \
	}

/* The allowed system calls. The flag MSG_FASTOPEN is forbidden. With this flag, sending a message
 * also connects the socket to an address, and Landlock does not prevent that connection, since
 * tcp_sendmsg_fastopen() of Linux does not call security_socket_connect(). */
static const struct isolate_syscall allowed[] = {
	{.number = SCMP_SYS(epoll_wait), .reason = "the loop waits"},
	{.number = SCMP_SYS(epoll_pwait), .reason = "the same where the C library has only this"},
	{.number = SCMP_SYS(epoll_ctl), .reason = "what the loop waits for"},
	{.number = SCMP_SYS(timerfd_settime), .reason = "the loop's timer; the wall clock"},
	{.number = SCMP_SYS(poll), .reason = "a wait with a deadline"},
	{.number = SCMP_SYS(ppoll), .reason = "the same"},
	{.number = SCMP_SYS(restart_syscall), .reason = "the same after a stop and a continue"},
	{.number = SCMP_SYS(clock_gettime), .reason = "the time, where there is no vDSO"},
	{.number = SCMP_SYS(gettimeofday), .reason = "the same"},
	{.number = SCMP_SYS(waitid), .reason = "children that have ended"},

	{.number = SCMP_SYS(read), .reason = "channels, signals, files"},
	{.number = SCMP_SYS(write), .reason = "channels, files, logs"},
	{.number = SCMP_SYS(readv), .reason = "the same in pieces"},
	{.number = SCMP_SYS(writev), .reason = "the same"},
	{.number = SCMP_SYS(pread64), .reason = "the header of a layer; memory pressure"},
	{.number = SCMP_SYS(pwrite64), .reason = "room in a file, where it is taken by writing"},
	{.number = SCMP_SYS(recvfrom), .reason = "sockets"},
	{.number = SCMP_SYS(recvmsg), .reason = "the broker's descriptors"},
	{.number = SCMP_SYS(sendto),
	 .reason = "sockets that are connected: no address is given",
	 .only = {{.arg = 3, .op = SCMP_CMP_MASKED_EQ, .datum_a = MSG_FASTOPEN},
		  {.arg = 4, .op = SCMP_CMP_EQ, .datum_a = 0}}},
	{.number = SCMP_SYS(sendmsg),
	 .reason = "descriptors for the broker and the VMM",
	 .only = {{.arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = MSG_FASTOPEN}}},
	{.number = SCMP_SYS(accept4), .reason = "clients of our listeners"},
	{.number = SCMP_SYS(shutdown), .reason = "one direction of a connection ends"},
	{.number = SCMP_SYS(getsockname), .reason = "which port of the loopback is asked for"},
	{.number = SCMP_SYS(getsockopt), .reason = "how connecting ended"},
	{.number = SCMP_SYS(setsockopt),
	 .reason = "connections without delay",
	 .only = OPTION(IPPROTO_TCP, TCP_NODELAY)},
	{.number = SCMP_SYS(setsockopt),
	 .reason = "peers whose host has gone are noticed",
	 .only = OPTION(SOL_SOCKET, SO_KEEPALIVE)},
	{.number = SCMP_SYS(setsockopt),
	 .reason = "connections that break off",
	 .only = OPTION(SOL_SOCKET, SO_LINGER)},
	{.number = SCMP_SYS(pipe2), .reason = "the stderr of what the broker starts"},
	{.number = SCMP_SYS(close), .reason = "connections and files end"},
	ISOLATE_FCNTL_FACTS,
	/* F_SETFL may only set O_NONBLOCK, and must set it. With O_ASYNC the kernel would send
	 * signals (isolate.h). Without O_NONBLOCK an open file description that other processes
	 * share, for example that of the siblings' listener, would become blocking for them too. */
	{.number = SCMP_SYS(fcntl),
	 .reason = "not blocking",
	 .only = {{.arg = 1, .op = SCMP_CMP_EQ, .datum_a = F_SETFL},
		  {.arg = 2,
		   .op = SCMP_CMP_MASKED_EQ,
		   .datum_a = O_ASYNC | O_NONBLOCK,
		   .datum_b = O_NONBLOCK}}},
	ISOLATE_FCNTL_ROW(F_GETLEASE, "whether the kernel's file was kept from being written"),
	{.number = SCMP_SYS(fcntl),
	 .reason = "that file is let go when the machine has read it",
	 .only = {{.arg = 1, .op = SCMP_CMP_EQ, .datum_a = F_SETLEASE},
		  {.arg = 2, .op = SCMP_CMP_EQ, .datum_a = F_UNLCK}}},
	{.number = SCMP_SYS(dup3), .reason = "the next file of supervisor.log"},

	{.number = SCMP_SYS(openat), .reason = "files of the workspace"},
	{.number = SCMP_SYS(renameat), .reason = "files are replaced whole"},
	{.number = SCMP_SYS(renameat2), .reason = "the same where the C library has only this"},
	{.number = SCMP_SYS(unlinkat), .reason = "sockets and room are removed"},
	{.number = SCMP_SYS(fchmod),
	 .reason = "the mode of a new file or socket, which its owner alone may use",
	 .only = {{.arg = 1, .op = SCMP_CMP_EQ, .datum_a = 0600}}},
	{.number = SCMP_SYS(fchmod),
	 .reason = "the same where nobody is to write to it again",
	 .only = {{.arg = 1, .op = SCMP_CMP_EQ, .datum_a = 0400}}},
	{.number = SCMP_SYS(fsync), .reason = "what must survive a loss of power"},
	{.number = SCMP_SYS(fdatasync), .reason = "the same"},
	{.number = SCMP_SYS(ftruncate), .reason = "logs, room, a layer's hole"},
	{.number = SCMP_SYS(fallocate), .reason = "room for the last records"},
	{.number = SCMP_SYS(flock), .reason = "audit.log while a line is written"},
	{.number = SCMP_SYS(lseek), .reason = "logs; holes of a disk"},
	{.number = SCMP_SYS(fstat), .reason = "sizes, and whether the directory is still there"},
	{.number = SCMP_SYS(newfstatat), .reason = "the same by name; the base"},
	{.number = SCMP_SYS(statx), .reason = "the same where the C library has only this"},
	{.number = SCMP_SYS(fstatfs), .reason = "room on a disk"},
	{.number = SCMP_SYS(getdents64), .reason = "the workspace's sockets"},
	{.number = SCMP_SYS(faccessat), .reason = "whether a file is there"},
	{.number = SCMP_SYS(faccessat2), .reason = "the same"},
	{.number = SCMP_SYS(readlink), .reason = "how an open file is called"},
	{.number = SCMP_SYS(readlinkat), .reason = "the same"},
	{.number = SCMP_SYS(ioctl),
	 .reason = "how much of a disk is its own",
	 .only = {{.arg = 1, .op = SCMP_CMP_EQ, .datum_a = FS_IOC_FIEMAP}}},
	{.number = SCMP_SYS(ioctl),
	 .reason = "a clone of the disk of a machine that is saved while it runs",
	 .only = {{.arg = 1, .op = SCMP_CMP_EQ, .datum_a = FICLONE}}},
	{.number = SCMP_SYS(copy_file_range), .reason = "the same where there are no clones"},

	{.number = SCMP_SYS(brk), .reason = "memory"},
	{.number = SCMP_SYS(mmap), .reason = "memory", .only = ISOLATE_NOT_EXECUTABLE},
	{.number = SCMP_SYS(mprotect), .reason = "memory", .only = ISOLATE_NOT_EXECUTABLE},
	{.number = SCMP_SYS(mremap), .reason = "memory"},
	{.number = SCMP_SYS(munmap), .reason = "memory"},
	{.number = SCMP_SYS(madvise), .reason = "memory that is given back"},
	{.number = SCMP_SYS(futex), .reason = "the C library's locks"},
	{.number = SCMP_SYS(getrandom), .reason = "names of temporary files"},
	{.number = SCMP_SYS(uname), .reason = "the architecture of a config that names none"},
	{.number = SCMP_SYS(getpid), .reason = "who we are"},
	{.number = SCMP_SYS(getuid), .reason = "the same"},
	{.number = SCMP_SYS(geteuid), .reason = "whose a directory is to be"},
	{.number = SCMP_SYS(getegid), .reason = "the same"},
	{.number = SCMP_SYS(prlimit64),
	 .reason = "many published connections",
	 .only = {{.arg = 0, .op = SCMP_CMP_EQ, .datum_a = 0}}},
	{.number = SCMP_SYS(rt_sigprocmask), .reason = "signals, which come as bytes"},
	{.number = SCMP_SYS(rt_sigreturn), .reason = "behind a signal"},
	{.number = SCMP_SYS(exit_group), .reason = "the end"},
};

/*
 * Keeps the right to end the children of this process. When this process dies, the kernel sends
 * each child a signal, as if this process had sent it. So the kernel checks the rights of this
 * process. A process without capabilities may send signals only to processes with the same real
 * user id. So this process takes the real user id of the VMM's processes. The effective user id
 * does not change, so that the process can still access its files.
 */
static int keep_ending_children(const struct live *live, struct error *err)
{
	uid_t user = live->backend->user ? live->backend->user() : 0;

	if (user && setresuid(user, (uid_t)-1, (uid_t)-1) < 0)
		return error_errno(err, errno, "real user id %u", (unsigned)user);
	return 0;
}

/*
 * First gives the supervisor its own root directory, and then adds Landlock. Landlock alone would
 * restrict only the supervisor. If the supervisor passed a descriptor of a directory of the host to
 * its VMM, the VMM could open other directories of the host by `..`. runtime.json says which of the
 * two protections the supervisor has.
 */
static int confine_to(struct live *live, const struct isolate_reach *reach, struct error *err)
{
	struct error no_landlock = {0}, no_root = {0};
	const bool root = isolate_trees(reach, &no_root) == 0;
	const bool landlock = isolate_landlock_version(&no_landlock) > 0;

	if (!root && no_root.code != ERR_UNAVAILABLE)
		return error_copy(err, &no_root);
	if (!root && landlock)
		log_line(
			&live->log,
			"only Landlock keeps the supervisor from the host's files; it does not bind a program to which the supervisor hands a directory: %s",
			no_root.msg);
	else if (!root)
		log_line(&live->log, "the supervisor can still open the host's files: %s: %s",
			 no_landlock.msg, no_root.msg);
	json_object_set_new(live->runtime, "files",
			    json_string(isolate_files_name(root, landlock)));
	return isolate_capabilities(err) < 0 || (landlock && isolate_landlock(reach, err) < 0) ? -1
											       : 0;
}

static int confine_files(struct live *live, struct error *err)
{
	autofree char *workspace = workspace_path(&live->ws, NULL, err);
	autoclose int own = open(OWN_PROCESS, PLACE_FLAGS);
	autoclose int thread = open(OWN_THREAD, PLACE_FLAGS);
	struct isolate_tree trees[] = {
		{.path = workspace, .fd = live->ws.fd, .writable = true},
		{.path = OWN_PROCESS, .fd = own},
		{.path = OWN_THREAD, .fd = thread},
	};
	const struct isolate_reach reach = {
		.trees = trees,
		.tree_count = ARRAY_SIZE(trees),
	};

	if (!workspace)
		return -1;
	return own < 0 || thread < 0 ? error_errno(err, errno, OWN_PROCESS)
				     : confine_to(live, &reach, err);
}

int live_confine(struct live *live, struct error *err)
{
	if (keep_ending_children(live, err) < 0 || confine_files(live, err) < 0)
		return -1;
	live_runtime_write(live);
	return isolate_syscalls(allowed, ARRAY_SIZE(allowed), err);
}
