/* SPDX-License-Identifier: MIT */
/*
 * Every system call of Firecracker's is in the list of a VMM's, or it would be ended by it. The
 * names are those of its own published lists, which hold once it has started, and what it is known
 * to make before; but for io_uring, which it makes for drives of the engine Async alone:
 * https://github.com/firecracker-microvm/firecracker/tree/main/resources/seccomp
 */
#include "test_base.h"

#include "backend/parts/vmm_calls.h"

static const char *const its_own[] = {
	"accept4",
	"brk",
	"clock_gettime",
	"close",
	"connect",
	"epoll_ctl",
	"epoll_pwait",
	"eventfd2",
	"exit",
	"exit_group",
	"fcntl F_DUPFD_CLOEXEC",
	"fcntl F_GETFD",
	"fcntl F_SETFD",
	"fcntl F_SETFL",
	"fstat",
	"fsync",
	"ftruncate",
	"futex",
	"getrandom",
	"gettid",
	"ioctl kvm",
	"ioctl tap",
	"lseek",
	"madvise",
	"memfd_create",
	"mincore",
	"mmap",
	"mprotect",
	"mremap",
	"msync",
	"munmap",
	"newfstatat",
	"open",
	"openat",
	"read",
	"readv",
	"recvfrom",
	"recvmsg",
	"restart_syscall",
	"rt_sigaction",
	"rt_sigprocmask",
	"rt_sigreturn",
	"sched_yield",
	"sendmsg",
	"sendto",
	"sigaltstack",
	"socket AF_UNIX SOCK_STREAM",
	"stat",
	"timerfd_create",
	"timerfd_settime",
	"tkill",
	"write",
	"writev",
};
static const char *const before[] = {
	"arch_prctl",	 "bind",
	"clone thread",	 "dup2",
	"epoll_create1", "execve",
	"getpid",	 "listen",
	"poll",		 "prctl",
	"prlimit64",	 "sched_getaffinity",
	"seccomp",	 "set_tid_address",
	"statx",	 "unlink",
};

static const struct vmm_call *row_of(const char *name)
{
	for (size_t i = 0; i < vmm_call_count; i++)
		if (strcmp(vmm_calls[i].name, name) == 0)
			return &vmm_calls[i];
	return NULL;
}

static void expect_allowed(const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct vmm_call *row = row_of(names[i]);

		if (!row || (row->fate != CALL_ALLOWED && row->fate != CALL_ALLOWED_TO_FIRECRACKER))
			fail_msg("%s is not allowed", names[i]);
	}
}

static void all_of_its_calls_are_allowed(void **state)
{
	(void)state;
	expect_allowed(its_own, ARRAY_SIZE(its_own));
	expect_allowed(before, ARRAY_SIZE(before));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(all_of_its_calls_are_allowed)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
