/* SPDX-License-Identifier: MIT */
#include "artifact/tool_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/platform/linux/isolate.h"
#include "base/platform/linux/isolate_filter.h"

#define NAME "a tool"

/* System calls that older headers do not name. Each call has the same number on every
 * architecture. */
enum { FCHMODAT2 = 452, MAP_SHADOW_STACK, FUTEX_WAKE, FUTEX_WAIT, FUTEX_REQUEUE, MSEAL = 462 };

#define ONLY(call, at, value, why)                                           \
	{                                                                    \
		.number = SCMP_SYS(call), .reason = (why), .only = {         \
			{.arg = (at), .op = SCMP_CMP_EQ, .datum_a = (value)} \
		}                                                            \
	}
/* Allows clone() if of the flags in `those`, exactly the flags in `these` are set. Ignores other
 * flags. */
#define CLONE(those, these, why)                                                                 \
	{                                                                                        \
		.number = SCMP_SYS(clone), .reason = (why),                                      \
		.only =                                                                          \
		{ {.arg = 0, .op = SCMP_CMP_MASKED_EQ, .datum_a = (those), .datum_b = (these)} } \
	}
/* The flags for namespaces. A filter cannot see the flags of clone3(), so clone3() is refused. The
 * C library then calls clone(), and the filter can see the flags of clone(). */
#define NAMESPACES                                                                    \
	(CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | \
	 CLONE_NEWUSER | CLONE_NEWUTS)

/* The system calls that every program may make. */
static const int always[] = {
	/* Calls for memory. */
	SCMP_SYS(brk),
	SCMP_SYS(madvise),
	MAP_SHADOW_STACK,
	SCMP_SYS(membarrier),
	SCMP_SYS(mincore),
	SCMP_SYS(mlock),
	SCMP_SYS(mlock2),
	SCMP_SYS(mmap),
	SCMP_SYS(mprotect),
	SCMP_SYS(mremap),
	MSEAL,
	SCMP_SYS(msync),
	SCMP_SYS(munlock),
	SCMP_SYS(munmap),
	/* Calls for the start and end of a program, and for its threads. */
	SCMP_SYS(arch_prctl),
	SCMP_SYS(execve),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(futex),
	FUTEX_REQUEUE,
	FUTEX_WAIT,
	SCMP_SYS(futex_waitv),
	FUTEX_WAKE,
	SCMP_SYS(get_robust_list),
	SCMP_SYS(getcpu),
	SCMP_SYS(gettid),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(rseq),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_yield),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(set_tid_address),
	/* Calls for files, by name and by descriptor. */
	SCMP_SYS(access),
	SCMP_SYS(chdir),
	SCMP_SYS(close),
	SCMP_SYS(close_range),
	SCMP_SYS(copy_file_range),
	SCMP_SYS(creat),
	SCMP_SYS(dup),
	SCMP_SYS(dup2),
	SCMP_SYS(dup3),
	SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2),
	SCMP_SYS(fadvise64),
	SCMP_SYS(fallocate),
	SCMP_SYS(fchdir),
	SCMP_SYS(fdatasync),
	SCMP_SYS(flock),
	SCMP_SYS(fstat),
	SCMP_SYS(fstatfs),
	SCMP_SYS(fsync),
	SCMP_SYS(ftruncate),
	SCMP_SYS(getcwd),
	SCMP_SYS(getdents),
	SCMP_SYS(getdents64),
	SCMP_SYS(lseek),
	SCMP_SYS(lstat),
	SCMP_SYS(newfstatat),
	SCMP_SYS(open),
	SCMP_SYS(openat),
	SCMP_SYS(openat2),
	SCMP_SYS(pread64),
	SCMP_SYS(preadv),
	SCMP_SYS(preadv2),
	SCMP_SYS(pwrite64),
	SCMP_SYS(pwritev),
	SCMP_SYS(pwritev2),
	SCMP_SYS(read),
	SCMP_SYS(readahead),
	SCMP_SYS(readlink),
	SCMP_SYS(readlinkat),
	SCMP_SYS(readv),
	SCMP_SYS(stat),
	SCMP_SYS(statfs),
	SCMP_SYS(statx),
	SCMP_SYS(sync_file_range),
	SCMP_SYS(umask),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	/* Calls for waits and time, and for receiving signals. */
	SCMP_SYS(alarm),
	SCMP_SYS(clock_getres),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(getitimer),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(nanosleep),
	SCMP_SYS(pause),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(pselect6),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigpending),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(rt_sigsuspend),
	SCMP_SYS(rt_sigtimedwait),
	SCMP_SYS(select),
	SCMP_SYS(setitimer),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(time),
	SCMP_SYS(times),
	/* Calls for information about the process itself and about the operating system. */
	SCMP_SYS(capget),
	SCMP_SYS(getegid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getgid),
	SCMP_SYS(getgroups),
	SCMP_SYS(getpgid),
	SCMP_SYS(getpgrp),
	SCMP_SYS(getpid),
	SCMP_SYS(getppid),
	SCMP_SYS(getpriority),
	SCMP_SYS(getrandom),
	SCMP_SYS(getresgid),
	SCMP_SYS(getresuid),
	SCMP_SYS(getrlimit),
	SCMP_SYS(getrusage),
	SCMP_SYS(getsid),
	SCMP_SYS(getuid),
	SCMP_SYS(sysinfo),
	SCMP_SYS(uname),
};

/* The fcntl() calls that programs with and without a cell may make. F_SETLEASE is refused, because
 * with a lease, a tool could make other programs of the host wait when they open a file that the
 * tool has open. */
static const struct isolate_syscall descriptors[] = {
	ISOLATE_FCNTL,
	ISOLATE_FCNTL_ROW(F_GETLK, "locks of files"),
	ISOLATE_FCNTL_ROW(F_SETLK, "locks of files"),
	ISOLATE_FCNTL_ROW(F_SETLKW, "locks of files"),
};

/* System calls that only a program outside a cell may make, in addition to the calls in
 * `always`. */
static const struct isolate_syscall alone[] = {
	CLONE(NAMESPACES | CLONE_THREAD, CLONE_THREAD, "threads"),
	ONLY(ioctl, 1, BLKGETSIZE64, "whether a file system is on a device, and how large"),
	ONLY(ioctl, 1, BLKSSZGET, "the same"),
	ONLY(ioctl, 1, BLKPBSZGET, "the same"),
	ONLY(ioctl, 1, BLKROGET, "the same"),
	ONLY(ioctl, 1, BLKDISCARDZEROES, "the same"),
	ONLY(ioctl, 1, FIOCLEX, "descriptors"),
	ONLY(ioctl, 1, TCGETS, "whether there is a terminal"),
	ONLY(ioctl, 1, TIOCGWINSZ, "how wide it is"),
	ONLY(prctl, 0, PR_GET_DUMPABLE, "whether the environment is to be trusted"),
	ONLY(prctl, 0, PR_SET_NAME, "names of threads"),
	ONLY(prlimit64, 0, 0, "its own limits"),
};

/* System calls that only programs in a cell may make, in addition to the calls in `always`. These
 * calls are needed because a program in a cell starts other programs and writes many files. */
static const int cell[] = {
	/* Calls for processes. */
	SCMP_SYS(execveat),
	SCMP_SYS(fork),
	SCMP_SYS(kill),
	SCMP_SYS(prctl),
	SCMP_SYS(prlimit64),
	SCMP_SYS(rt_sigqueueinfo),
	SCMP_SYS(rt_tgsigqueueinfo),
	SCMP_SYS(setgid),
	SCMP_SYS(setpgid),
	SCMP_SYS(setregid),
	SCMP_SYS(setresgid),
	SCMP_SYS(setresuid),
	SCMP_SYS(setreuid),
	SCMP_SYS(setrlimit),
	SCMP_SYS(setsid),
	SCMP_SYS(setuid),
	SCMP_SYS(tgkill),
	SCMP_SYS(tkill),
	SCMP_SYS(vfork),
	SCMP_SYS(wait4),
	SCMP_SYS(waitid),
	/* Calls for files. */
	SCMP_SYS(chmod),
	SCMP_SYS(chown),
	SCMP_SYS(fchmod),
	SCMP_SYS(fchmodat),
	FCHMODAT2,
	SCMP_SYS(fchown),
	SCMP_SYS(fchownat),
	SCMP_SYS(fgetxattr),
	SCMP_SYS(flistxattr),
	SCMP_SYS(fremovexattr),
	SCMP_SYS(fsetxattr),
	SCMP_SYS(futimesat),
	SCMP_SYS(getxattr),
	SCMP_SYS(ioctl),
	SCMP_SYS(lchown),
	SCMP_SYS(lgetxattr),
	SCMP_SYS(link),
	SCMP_SYS(linkat),
	SCMP_SYS(listxattr),
	SCMP_SYS(llistxattr),
	SCMP_SYS(lremovexattr),
	SCMP_SYS(lsetxattr),
	SCMP_SYS(memfd_create),
	SCMP_SYS(mkdir),
	SCMP_SYS(mkdirat),
	SCMP_SYS(mknod),
	SCMP_SYS(mknodat),
	SCMP_SYS(removexattr),
	SCMP_SYS(rename),
	SCMP_SYS(renameat),
	SCMP_SYS(renameat2),
	SCMP_SYS(rmdir),
	SCMP_SYS(setxattr),
	SCMP_SYS(symlink),
	SCMP_SYS(symlinkat),
	SCMP_SYS(syncfs),
	SCMP_SYS(truncate),
	SCMP_SYS(unlink),
	SCMP_SYS(unlinkat),
	SCMP_SYS(utime),
	SCMP_SYS(utimensat),
	SCMP_SYS(utimes),
	/* Calls for channels between processes. */
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(bind),
	SCMP_SYS(connect),
	SCMP_SYS(epoll_create),
	SCMP_SYS(epoll_create1),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(epoll_pwait2),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(eventfd),
	SCMP_SYS(eventfd2),
	SCMP_SYS(getpeername),
	SCMP_SYS(getsockname),
	SCMP_SYS(getsockopt),
	SCMP_SYS(listen),
	SCMP_SYS(pipe),
	SCMP_SYS(pipe2),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmmsg),
	SCMP_SYS(recvmsg),
	SCMP_SYS(sendfile),
	SCMP_SYS(sendmmsg),
	SCMP_SYS(sendmsg),
	SCMP_SYS(sendto),
	SCMP_SYS(setsockopt),
	SCMP_SYS(shutdown),
	SCMP_SYS(signalfd),
	SCMP_SYS(signalfd4),
	SCMP_SYS(splice),
	SCMP_SYS(tee),
	SCMP_SYS(timer_create),
	SCMP_SYS(timer_delete),
	SCMP_SYS(timer_getoverrun),
	SCMP_SYS(timer_gettime),
	SCMP_SYS(timer_settime),
	SCMP_SYS(timerfd_create),
	SCMP_SYS(timerfd_gettime),
	SCMP_SYS(timerfd_settime),
};

static const struct isolate_syscall cell_only[] = {
	CLONE(NAMESPACES, 0, "processes and threads"),
	ISOLATE_FCNTL_ROW(F_ADD_SEALS, "memory files"),
	ISOLATE_FCNTL_ROW(F_GET_SEALS, "the same"),
	ISOLATE_FCNTL_ROW(F_GETPIPE_SZ, "pipes"),
	ISOLATE_FCNTL_ROW(F_SETPIPE_SZ, "the same"),
	ISOLATE_FCNTL_ROW(F_OFD_GETLK, "locks of files"),
	ISOLATE_FCNTL_ROW(F_OFD_SETLK, "the same"),
	ISOLATE_FCNTL_ROW(F_OFD_SETLKW, "the same"),
	ONLY(socket, 0, AF_UNIX, "between its processes"),
	ONLY(socketpair, 0, AF_UNIX, "the same"),
};

static const struct isolate_syscall network_only[] = {
	ONLY(socket, 0, AF_INET, "registries"),
	ONLY(socket, 0, AF_INET6, "registries"),
	ONLY(socket, 0, AF_NETLINK, "which addresses the host has"),
};

static int allow_calls(scmp_filter_ctx filter, const int *calls, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++)
		if (isolate_filter_check(
			    seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, calls[i], 0, NULL), NAME,
			    err) < 0)
			return -1;
	return 0;
}

static int allow_some_calls(scmp_filter_ctx filter, const struct isolate_syscall *rows,
			    size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++)
		if (isolate_filter_check(
			    seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, rows[i].number,
						   isolate_condition_count(&rows[i]), rows[i].only),
			    NAME, err) < 0)
			return -1;
	return 0;
}

int tool_calls_filter(enum tool_calls which, int *fd, struct error *err)
{
	autofilter filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));

	if (!filter)
		return error_errno(err, ENOMEM, "system call filter of " NAME);
	if (isolate_filter_check(
		    seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS), NAME,
		    err) < 0 ||
	    allow_calls(filter, always, ARRAY_SIZE(always), err) < 0 ||
	    allow_some_calls(filter, descriptors, ARRAY_SIZE(descriptors), err) < 0)
		return -1;
	if (which == TOOL_CALLS_ALONE) {
		if (allow_some_calls(filter, alone, ARRAY_SIZE(alone), err) < 0)
			return -1;
	} else if (allow_calls(filter, cell, ARRAY_SIZE(cell), err) < 0 ||
		   allow_some_calls(filter, cell_only, ARRAY_SIZE(cell_only), err) < 0) {
		return -1;
	}
	if (which == TOOL_CALLS_NETWORK &&
	    allow_some_calls(filter, network_only, ARRAY_SIZE(network_only), err) < 0)
		return -1;
	return isolate_filter_export(filter, NAME, fd, err);
}
