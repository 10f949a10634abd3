/* SPDX-License-Identifier: MIT */
#include "backend/parts/vmm_calls.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/cleanup.h"

#define CALL(is, call, why)                                                                 \
	{                                                                                   \
		.number = SCMP_SYS(call), .name = #call, .fate = CALL_##is, .reason = (why) \
	}
#define KILLED(call, why) CALL(KILLED, call, why)
#define REFUSED(call, why) CALL(REFUSED, call, why)
#define ALLOWED(call, why) CALL(ALLOWED, call, why)
#define ALLOWED_TO_FIRECRACKER(call, why) CALL(ALLOWED_TO_FIRECRACKER, call, why)
/* A row for a call that older headers do not define. The call has the same number on every
 * architecture. */
#define NEWER(num, call, is, why)                                                  \
	{                                                                          \
		.number = (num), .name = #call, .fate = CALL_##is, .reason = (why) \
	}
/* A row for clone() calls whose first argument has the value `these` in the bits `those`. */
#define CLONE_ONLY(what, is, those, these, why)                                            \
	{                                                                                  \
		.number = SCMP_SYS(clone), .name = "clone " what, .fate = CALL_##is,       \
		.reason = (why), .only = {                                                 \
			{.op = SCMP_CMP_MASKED_EQ, .datum_a = (those), .datum_b = (these)} \
		}                                                                          \
	}
#define CLONE_KILLED(flag, why) CLONE_ONLY(#flag, KILLED, flag, flag, why)
/*
 * The rows for socket() and socketpair() allow only SOCK_STREAM. A VMM could pass a socket that it
 * has made to the live supervisor. With this socket the supervisor could do what the VMM cannot:
 * send to a daemon of the host, or make the broker keep a port of the host.
 *
 * So socket() fails with ENOSYS, except for Firecracker, which makes the sockets of its own
 * machine. A SOCK_STREAM socket that is not connected cannot send anything, and the supervisor
 * connects none. The two ends of a pair of SOCK_STREAM sockets are connected to each other for
 * ever, and cannot send to another address (unix_stream_connect() and unix_stream_sendmsg() in
 * Linux's net/unix/af_unix.c).
 */
/* The bits of a socket's type that are not flags (SOCK_TYPE_MASK in Linux's
 * include/linux/net.h). */
#define SOCK_TYPE 0xf
#define IS_STREAM                                                                                \
	{                                                                                        \
		.arg = 1, .op = SCMP_CMP_MASKED_EQ, .datum_a = SOCK_TYPE, .datum_b = SOCK_STREAM \
	}
/* A row for a call that may not make a file with a set-user-ID or set-group-ID bit. `mode` is the
 * index of the argument that has the file's mode. */
#define NOT_SET_ID(call, mode)                                                                    \
	{                                                                                         \
		.number = SCMP_SYS(call), .name = #call, .fate = CALL_ALLOWED, .reason = "files", \
		.only = {                                                                         \
			{.arg = (mode), .op = SCMP_CMP_MASKED_EQ, .datum_a = S_ISUID | S_ISGID}   \
		}                                                                                 \
	}
/*
 * A row for a command of fcntl() that is allowed. All other commands are refused. With F_SETLEASE,
 * other processes of the host would have to wait for the VMM when they open one of the VMM's files.
 * With F_SETOWN, F_SETSIG, O_ASYNC and F_NOTIFY, the kernel sends signals.
 */
#define FCNTL_ROW(command, why)                                                             \
	{                                                                                   \
		.number = SCMP_SYS(fcntl), .name = "fcntl " #command, .fate = CALL_ALLOWED, \
		.reason = (why), .only = {                                                  \
			{.arg = 1, .op = SCMP_CMP_EQ, .datum_a = (command)},                \
		}                                                                           \
	}
/*
 * A row for the commands of ioctl() whose type is the given byte (asm-generic/ioctl.h). All other
 * commands are refused. Among the refused commands are those that set attributes of a file, such as
 * FS_IOC_SETFLAGS. Such a command needs no descriptor for writing: the user who owns the file may
 * use it. The VMM of an ordinary user runs as the user who owns the base, which other machines use
 * too.
 */
#define IOCTL_ROW(what, type, why)                                                                \
	{                                                                                         \
		.number = SCMP_SYS(ioctl), .name = "ioctl " what, .fate = CALL_ALLOWED,           \
		.reason = (why),                                                                  \
		.only =                                                                           \
		{ {.arg = 1, .op = SCMP_CMP_MASKED_EQ, .datum_a = 0xff00, .datum_b = (type) << 8} \
		}                                                                                 \
	}
/*
 * A row for a call that may send, but not with MSG_FASTOPEN. With this flag, a TCP socket connects
 * to the address to which a message is sent. Neither a filter of connect() nor Landlock notices
 * that. `flags` is the index of the argument that has the flags.
 */
#define NOT_FAST_OPEN(call, flags, why)                                                         \
	{                                                                                       \
		.number = SCMP_SYS(call), .name = #call, .fate = CALL_ALLOWED, .reason = (why), \
		.only = {                                                                       \
			{.arg = (flags), .op = SCMP_CMP_MASKED_EQ, .datum_a = MSG_FASTOPEN}     \
		}                                                                               \
	}
#define NAMESPACES                                                                    \
	(CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWPID | \
	 CLONE_NEWUSER | CLONE_NEWUTS)

const struct vmm_call vmm_calls[] = {
	/* Calls that no VMM needs. */
	KILLED(_sysctl, "obsolete, on QEMU's own list"),
	KILLED(acct, "accounting of the host's processes"),
	KILLED(add_key, "the kernel's keys are nobody's in a cell"),
	KILLED(adjtimex, "the host's clock"),
	KILLED(bpf, "programs in the kernel"),
	KILLED(chroot, "another root"),
	KILLED(clock_adjtime, "the host's clock"),
	KILLED(clock_settime, "the host's clock"),
	CLONE_KILLED(CLONE_NEWCGROUP, "a namespace of cgroups"),
	CLONE_KILLED(CLONE_NEWIPC, "a namespace of shared memory"),
	CLONE_KILLED(CLONE_NEWNET, "a namespace of networks"),
	CLONE_KILLED(CLONE_NEWNS, "a namespace of mounts"),
	CLONE_KILLED(CLONE_NEWPID, "a namespace of processes"),
	CLONE_KILLED(CLONE_NEWUSER, "a namespace of users, in which it would be root"),
	CLONE_KILLED(CLONE_NEWUTS, "a namespace of names"),
	CLONE_ONLY("thread of its own files", KILLED, CLONE_THREAD | CLONE_FILES, CLONE_THREAD,
		   "descriptors that no quarantine finds"),
	KILLED(create_module, "obsolete, on QEMU's own list"),
	KILLED(delete_module, "the kernel's modules"),
	KILLED(finit_module, "the kernel's modules"),
	KILLED(fsconfig, "mounts, the newer way"),
	KILLED(fsmount, "mounts, the newer way"),
	KILLED(fsopen, "mounts, the newer way"),
	KILLED(fspick, "mounts, the newer way"),
	KILLED(get_kernel_syms, "obsolete, on QEMU's own list"),
	KILLED(init_module, "the kernel's modules"),
	KILLED(ioperm, "the host's ports"),
	KILLED(iopl, "the host's ports"),
	KILLED(kcmp, "looks into other processes"),
	KILLED(kexec_file_load, "another kernel for the host"),
	KILLED(kexec_load, "another kernel for the host"),
	KILLED(keyctl, "the kernel's keys are nobody's in a cell"),
	KILLED(lookup_dcookie, "a profiler's"),
	KILLED(modify_ldt, "segments of 16 bits: no use but an attack on the kernel"),
	KILLED(mount, "another file system"),
	KILLED(mount_setattr, "mounts, the newer way"),
	KILLED(move_mount, "mounts, the newer way"),
	KILLED(nfsservctl, "obsolete"),
	KILLED(open_by_handle_at, "opens files around the cell's root"),
	KILLED(open_tree, "mounts, the newer way"),
	NEWER(467, open_tree_attr, KILLED, "mounts, the newer way"),
	KILLED(perf_event_open, "a profiler's, and an attack on the kernel"),
	KILLED(pidfd_getfd, "takes descriptors out of other processes"),
	KILLED(pivot_root, "another root"),
	KILLED(process_vm_readv, "reads other processes"),
	KILLED(process_vm_writev, "writes into other processes"),
	KILLED(ptrace, "rules over other processes"),
	KILLED(query_module, "obsolete, on QEMU's own list"),
	KILLED(quotactl, "the host's quotas"),
	KILLED(quotactl_fd, "the host's quotas"),
	KILLED(reboot, "the host's end"),
	KILLED(request_key, "the kernel's keys are nobody's in a cell"),
	KILLED(setdomainname, "the host's name"),
	KILLED(sethostname, "the host's name"),
	KILLED(setns, "another namespace"),
	KILLED(settimeofday, "the host's clock"),
	KILLED(swapoff, "the host's memory"),
	KILLED(swapon, "the host's memory"),
	KILLED(sysfs, "obsolete, on QEMU's own list"),
	KILLED(syslog, "the kernel's messages"),
	KILLED(umount2, "another file system"),
	KILLED(unshare, "new namespaces open much of the kernel to whoever has none of its rights"),
	KILLED(uselib, "obsolete, on QEMU's own list"),
	KILLED(ustat, "obsolete, on QEMU's own list"),
	KILLED(vhangup, "the host's terminals"),

	/* Calls that fail with ENOSYS, each for its own reason. Every call without a row also fails
	 * with ENOSYS. */
	REFUSED(capset, "bwrap has left no capabilities, and QEMU asks for none"),
	REFUSED(chmod, "a file keeps its mode: its owner may make it a set-user-ID program"),
	REFUSED(chown, "a file keeps its owner"),
	REFUSED(clone3,
		"its flags are where no filter sees them; the C library goes back to clone"),
	REFUSED(execveat, "execve is enough for bwrap"),
	REFUSED(fchmod, "a file keeps its mode: its owner may make it a set-user-ID program"),
	REFUSED(fchmodat, "a file keeps its mode: its owner may make it a set-user-ID program"),
	NEWER(452, fchmodat2, REFUSED,
	      "a file keeps its mode: its owner may make it a set-user-ID program"),
	REFUSED(fchown, "a file keeps its owner"),
	REFUSED(fchownat, "a file keeps its owner"),
	REFUSED(futimesat, "a file keeps its times"),
	REFUSED(io_uring_enter, "the loop goes back to epoll"),
	REFUSED(io_uring_register, "would hold descriptors that no quarantine finds"),
	REFUSED(io_uring_setup, "the loop goes back to epoll"),
	REFUSED(lchown, "a file keeps its owner"),
	REFUSED(link, "a link is followed by others, who have more rights"),
	REFUSED(linkat, "a link is followed by others, who have more rights"),
	REFUSED(memfd_secret,
		"memory that nobody can look into; the guest's is shared with vsockd"),
	REFUSED(openat2, "the mode of a new file is where no filter sees it"),
	REFUSED(personality, "would take away that addresses are random"),
	REFUSED(setfsgid, "on QEMU's own list: it stays who it is"),
	REFUSED(setfsuid, "on QEMU's own list: it stays who it is"),
	REFUSED(setgid, "on QEMU's own list: it stays who it is"),
	REFUSED(setgroups, "it stays who it is"),
	REFUSED(setpgid, "on QEMU's own list: it starts no jobs"),
	REFUSED(setregid, "on QEMU's own list: it stays who it is"),
	REFUSED(setresgid, "on QEMU's own list: it stays who it is"),
	REFUSED(setresuid, "on QEMU's own list: it stays who it is"),
	REFUSED(setreuid, "on QEMU's own list: it stays who it is"),
	REFUSED(setsid, "on QEMU's own list: it has a session already"),
	REFUSED(setuid, "on QEMU's own list: it stays who it is"),
	REFUSED(userfaultfd,
		"for migrations that are not made here; holds up the kernel in the middle of a copy"),
	REFUSED(utime, "a file keeps its times"),
	REFUSED(utimensat, "a file keeps its times"),
	REFUSED(utimes, "a file keeps its times"),
	REFUSED(vmsplice, "pages that change under the kernel's hands"),

	/* Calls that a VMM may need, under KVM or TCG, with any device that a machine may have. */
	ALLOWED(accept, "sockets"),
	ALLOWED(accept4, "sockets"),
	ALLOWED(access, "files"),
	ALLOWED(alarm, "timers"),
	ALLOWED(arch_prctl, "the thread's own memory"),
	ALLOWED(brk, "memory"),
	ALLOWED(capget, "what it may"),
	ALLOWED(chdir, "files"),
	ALLOWED(clock_getres, "time"),
	ALLOWED(clock_gettime, "time, where there is no vDSO"),
	ALLOWED(clock_nanosleep, "time"),
	CLONE_ONLY("process", ALLOWED, NAMESPACES | CLONE_THREAD, 0,
		   "QEMU's own list kills for it"),
	CLONE_ONLY("thread", ALLOWED, NAMESPACES | CLONE_THREAD | CLONE_FILES,
		   CLONE_THREAD | CLONE_FILES, "threads"),
	ALLOWED(close, "descriptors"),
	ALLOWED(close_range, "descriptors"),
	ALLOWED(copy_file_range, "disks"),
	NOT_SET_ID(creat, 1),
	ALLOWED(dup, "descriptors"),
	ALLOWED(dup2, "descriptors"),
	ALLOWED(dup3, "descriptors"),
	ALLOWED(epoll_create, "the loop"),
	ALLOWED(epoll_create1, "the loop"),
	ALLOWED(epoll_ctl, "the loop"),
	ALLOWED(epoll_pwait, "the loop"),
	ALLOWED(epoll_pwait2, "the loop"),
	ALLOWED(epoll_wait, "the loop"),
	ALLOWED(eventfd, "interrupts and kicks"),
	ALLOWED(eventfd2, "interrupts and kicks"),
	ALLOWED(execve, "bwrap becomes QEMU by it; from its start on QEMU's own list kills for it"),
	ALLOWED(exit, "the end of a thread"),
	ALLOWED(exit_group, "the end"),
	ALLOWED(faccessat, "files"),
	ALLOWED(faccessat2, "files"),
	ALLOWED(fadvise64, "disks"),
	ALLOWED(fallocate, "disks: room and holes"),
	ALLOWED(fchdir, "files"),
	FCNTL_ROW(F_ADD_SEALS, "memory files"),
	FCNTL_ROW(F_DUPFD, "descriptors"),
	FCNTL_ROW(F_DUPFD_CLOEXEC, "descriptors"),
	FCNTL_ROW(F_GETFD, "descriptors"),
	FCNTL_ROW(F_GETFL, "descriptors"),
	FCNTL_ROW(F_GETLK, "locks of disks"),
	FCNTL_ROW(F_GET_SEALS, "memory files"),
	FCNTL_ROW(F_OFD_GETLK, "locks of disks"),
	FCNTL_ROW(F_OFD_SETLK, "locks of disks"),
	FCNTL_ROW(F_OFD_SETLKW, "locks of disks"),
	FCNTL_ROW(F_SETFD, "descriptors"),
	{.number = SCMP_SYS(fcntl),
	 .name = "fcntl F_SETFL",
	 .fate = CALL_ALLOWED,
	 .reason = "blocking or not",
	 .only = {{.arg = 1, .op = SCMP_CMP_EQ, .datum_a = F_SETFL},
		  {.arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = O_ASYNC}}},
	FCNTL_ROW(F_SETLK, "locks of disks"),
	FCNTL_ROW(F_SETLKW, "locks of disks"),
	ALLOWED(fdatasync, "disks"),
	ALLOWED(fgetxattr, "files"),
	ALLOWED(flistxattr, "files"),
	ALLOWED(fork, "as clone: QEMU's own list kills for it"),
	ALLOWED(fstat, "files"),
	ALLOWED(fstatfs, "which page size a memory file has"),
	ALLOWED(fsync, "disks"),
	ALLOWED(ftruncate, "disks, memory files"),
	ALLOWED(futex, "locks of threads"),
	NEWER(456, futex_requeue, ALLOWED, "locks of threads"),
	NEWER(455, futex_wait, ALLOWED, "locks of threads"),
	ALLOWED(futex_waitv, "locks of threads"),
	NEWER(454, futex_wake, ALLOWED, "locks of threads"),
	ALLOWED(get_mempolicy, "memory, where the host has several nodes"),
	ALLOWED(get_robust_list, "locks of threads"),
	ALLOWED(getcpu, "threads"),
	ALLOWED(getcwd, "files"),
	ALLOWED(getdents, "files"),
	ALLOWED(getdents64, "files"),
	ALLOWED(getegid, "who it is"),
	ALLOWED(geteuid, "who it is"),
	ALLOWED(getgid, "who it is"),
	ALLOWED(getgroups, "who it is"),
	ALLOWED(getitimer, "timers"),
	ALLOWED(getpeername, "sockets"),
	ALLOWED(getpgid, "who it is"),
	ALLOWED(getpgrp, "who it is"),
	ALLOWED(getpid, "who it is"),
	ALLOWED(getppid, "who it is"),
	ALLOWED(getpriority, "threads"),
	ALLOWED(getrandom, "random numbers, also the guest's"),
	ALLOWED(getresgid, "who it is"),
	ALLOWED(getresuid, "who it is"),
	ALLOWED(getrlimit, "limits"),
	ALLOWED(getrusage, "statistics"),
	ALLOWED(getsid, "who it is"),
	ALLOWED(getsockname, "sockets"),
	ALLOWED(getsockopt, "sockets"),
	ALLOWED(gettid, "threads"),
	ALLOWED(gettimeofday, "time, where there is no vDSO"),
	ALLOWED(getuid, "who it is"),
	ALLOWED(getxattr, "files"),
	ALLOWED(inotify_add_watch, "watched files"),
	ALLOWED(inotify_init, "watched files"),
	ALLOWED(inotify_init1, "watched files"),
	ALLOWED(inotify_rm_watch, "watched files"),
	ALLOWED(io_cancel, "disks: aio=native"),
	ALLOWED(io_destroy, "disks: aio=native"),
	ALLOWED(io_getevents, "disks: aio=native"),
	ALLOWED(io_pgetevents, "disks: aio=native"),
	ALLOWED(io_setup, "disks: aio=native"),
	ALLOWED(io_submit, "disks: aio=native"),
	IOCTL_ROW("block", 0x12, "block devices"),
	IOCTL_ROW("kvm", 0xae, "KVM"),
	IOCTL_ROW("tap", 'T', "taps, bytes that wait in a socket, whether a file is a terminal"),
	IOCTL_ROW("vhost", 0xaf, "vhost"),
	ALLOWED(kill, "its own processes; the cell has no others"),
	ALLOWED(lgetxattr, "files"),
	ALLOWED(listxattr, "files"),
	ALLOWED(llistxattr, "files"),
	ALLOWED(lseek, "disks"),
	ALLOWED(lstat, "files"),
	ALLOWED(madvise, "memory that is given back; huge pages"),
	NEWER(453, map_shadow_stack, ALLOWED, "the stacks of coroutines"),
	ALLOWED(mbind, "memory, where the host has several nodes"),
	ALLOWED(membarrier, "locks of threads"),
	ALLOWED(memfd_create, "the guest's memory"),
	ALLOWED(mincore, "memory"),
	ALLOWED(mkdir, "files"),
	ALLOWED(mkdirat, "files"),
	ALLOWED(mlock, "memory"),
	ALLOWED(mlock2, "memory"),
	ALLOWED(mlockall, "memory"),
	ALLOWED(mmap, "memory"),
	ALLOWED(mprotect, "memory; TCG's translations"),
	ALLOWED(mremap, "memory"),
	NEWER(462, mseal, ALLOWED, "memory"),
	ALLOWED(msync, "disks and memory in files"),
	ALLOWED(munlock, "memory"),
	ALLOWED(munlockall, "memory"),
	ALLOWED(munmap, "memory"),
	ALLOWED(nanosleep, "time"),
	ALLOWED(newfstatat, "files"),
	NOT_SET_ID(open, 2),
	NOT_SET_ID(openat, 3),
	ALLOWED(pause, "signals"),
	ALLOWED(pipe, "between threads"),
	ALLOWED(pipe2, "between threads"),
	ALLOWED(poll, "the loop"),
	ALLOWED(ppoll, "the loop"),
	ALLOWED(prctl, "names of threads, QEMU's own filter, memory errors"),
	ALLOWED(pread64, "disks"),
	ALLOWED(preadv, "disks"),
	ALLOWED(preadv2, "disks"),
	ALLOWED(prlimit64, "limits"),
	ALLOWED(pselect6, "the loop"),
	ALLOWED(pwrite64, "disks"),
	ALLOWED(pwritev, "disks"),
	ALLOWED(pwritev2, "disks"),
	ALLOWED(read, "all channels"),
	ALLOWED(readahead, "disks"),
	ALLOWED(readlink, "files"),
	ALLOWED(readlinkat, "files"),
	ALLOWED(readv, "all channels"),
	ALLOWED(recvfrom, "sockets"),
	ALLOWED(recvmmsg, "sockets"),
	ALLOWED(recvmsg, "sockets"),
	ALLOWED(rename, "files"),
	ALLOWED(renameat, "files"),
	ALLOWED(renameat2, "files"),
	ALLOWED(restart_syscall, "waits, after a stop and a continue"),
	ALLOWED(rmdir, "files"),
	ALLOWED(rseq, "threads"),
	ALLOWED(rt_sigaction, "signals"),
	ALLOWED(rt_sigpending, "signals: KVM's of a virtual CPU"),
	ALLOWED(rt_sigprocmask, "signals"),
	ALLOWED(rt_sigqueueinfo, "signals"),
	ALLOWED(rt_sigreturn, "signals"),
	ALLOWED(rt_sigsuspend, "signals; the stacks of coroutines"),
	ALLOWED(rt_sigtimedwait, "signals: KVM's of a virtual CPU"),
	ALLOWED(rt_tgsigqueueinfo, "signals"),
	ALLOWED(sched_get_priority_max, "threads"),
	ALLOWED(sched_get_priority_min, "threads"),
	ALLOWED(sched_getaffinity, "threads"),
	ALLOWED(sched_getattr, "threads"),
	ALLOWED(sched_getparam, "threads"),
	ALLOWED(sched_getscheduler, "threads"),
	ALLOWED(sched_setaffinity, "threads; QEMU's own list answers EPERM"),
	ALLOWED(sched_setattr, "threads"),
	ALLOWED(sched_setparam, "threads; QEMU's own list answers EPERM"),
	ALLOWED(sched_setscheduler, "threads; QEMU's own list answers EPERM"),
	ALLOWED(sched_yield, "threads"),
	ALLOWED(seccomp, "QEMU's own filter"),
	ALLOWED(select, "the loop"),
	ALLOWED(sendfile, "disks"),
	NOT_FAST_OPEN(sendmmsg, 3, "sockets"),
	NOT_FAST_OPEN(sendmsg, 2, "sockets; descriptors for vsockd and virtiofsd"),
	NOT_FAST_OPEN(sendto, 3, "sockets"),
	ALLOWED(set_mempolicy, "memory, where the host has several nodes"),
	ALLOWED(set_mempolicy_home_node, "memory, where the host has several nodes"),
	ALLOWED(set_robust_list, "locks of threads"),
	ALLOWED(set_tid_address, "threads"),
	ALLOWED(setitimer, "timers"),
	ALLOWED(setpriority, "threads; QEMU's own list answers EPERM"),
	ALLOWED(setrlimit, "limits"),
	ALLOWED(setsockopt, "sockets"),
	ALLOWED(shutdown, "sockets"),
	ALLOWED(sigaltstack, "the stacks of coroutines"),
	ALLOWED(signalfd, "signals"),
	ALLOWED(signalfd4, "signals"),
	{.number = SCMP_SYS(socketpair),
	 .name = "socketpair SOCK_STREAM",
	 .fate = CALL_ALLOWED,
	 .reason = "the second channel of a vhost-user device",
	 .only = {IS_STREAM}},
	ALLOWED(splice, "disks"),
	ALLOWED(stat, "files"),
	ALLOWED(statfs, "which page size a memory file has"),
	ALLOWED(statx, "files"),
	ALLOWED(sync, "disks"),
	ALLOWED(sync_file_range, "disks"),
	ALLOWED(syncfs, "disks"),
	ALLOWED(sysinfo, "how much memory there is"),
	ALLOWED(tee, "disks"),
	ALLOWED(tgkill, "signals between threads: KVM's of a virtual CPU"),
	ALLOWED(time, "time, where there is no vDSO"),
	ALLOWED(timer_create, "timers"),
	ALLOWED(timer_delete, "timers"),
	ALLOWED(timer_getoverrun, "timers"),
	ALLOWED(timer_gettime, "timers"),
	ALLOWED(timer_settime, "timers"),
	ALLOWED(timerfd_create, "timers"),
	ALLOWED(timerfd_gettime, "timers"),
	ALLOWED(timerfd_settime, "timers"),
	ALLOWED(times, "statistics"),
	ALLOWED(tkill, "signals between threads"),
	ALLOWED(truncate, "disks"),
	ALLOWED(umask, "files"),
	ALLOWED(uname, "which kernel this is"),
	ALLOWED(unlink, "files"),
	ALLOWED(unlinkat, "files"),
	ALLOWED(vfork, "as clone: QEMU's own list kills for it"),
	ALLOWED(wait4, "threads and processes that have ended"),
	ALLOWED(waitid, "threads and processes that have ended"),
	ALLOWED(write, "all channels"),
	ALLOWED(writev, "all channels"),

	/*
	 * Calls that only Firecracker may need. QEMU gets sockets that are ready to use, so it does
	 * not need these calls. In QEMU they would be a danger. The live supervisor may pass QEMU a
	 * TCP socket of the host's network, and QEMU could connect that socket again or make it a
	 * listener.
	 */
	ALLOWED_TO_FIRECRACKER(bind, "its API, the machine's vsock"),
	ALLOWED_TO_FIRECRACKER(connect, "a port of the host that the guest dials"),
	ALLOWED_TO_FIRECRACKER(listen, "its API, the machine's vsock"),
	{.number = SCMP_SYS(socket),
	 .name = "socket AF_UNIX SOCK_STREAM",
	 .fate = CALL_ALLOWED_TO_FIRECRACKER,
	 .reason = "its API, the machine's vsock",
	 .only = {{.op = SCMP_CMP_MASKED_EQ, .datum_a = UINT64_MAX, .datum_b = AF_UNIX},
		  IS_STREAM}},
	ALLOWED_TO_FIRECRACKER(symlink,
			       "a name in its directory: whoever reads there follows no link"),
	ALLOWED_TO_FIRECRACKER(symlinkat, "the same"),
};

const size_t vmm_call_count = ARRAY_SIZE(vmm_calls);
