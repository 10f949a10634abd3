/* SPDX-License-Identifier: MIT */
#include "guest/job/clone.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct clone_args clone_arguments(uint64_t flags, int cgroup_fd, int *pidfd)
{
	return (struct clone_args){
		.flags = flags | CLONE_PIDFD | (cgroup_fd >= 0 ? CLONE_INTO_CGROUP : 0),
		.pidfd = (uint64_t)(uintptr_t)pidfd,
		/* With CLONE_PARENT the child gets the exit signal of the process that calls
		 * clone3(), and clone3() fails if exit_signal has a value. */
		.exit_signal = flags & CLONE_PARENT ? 0 : SIGCHLD,
		.cgroup = cgroup_fd >= 0 ? (uint64_t)cgroup_fd : 0,
	};
}

pid_t clone_fork(uint64_t namespaces, int cgroup_fd, int *pidfd)
{
	struct clone_args args = clone_arguments(namespaces, cgroup_fd, pidfd);
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	return pid < 0 ? -errno : (pid_t)pid;
}

/*
 * Calls clone3() and, in the child, entry(data). After the system call the child has a copy of the
 * parent's registers and uses the parent's stack. If the child ran compiled code of this function,
 * it could overwrite values of the parent, since the compiler may use the same memory of the stack
 * for different values in two branches. So the assembly code calls `entry` directly, with a stack
 * pointer below all that the parent uses of the stack.
 */
#if defined(MICROAGENT_SANITIZE)
/* A build with sanitizers has no clone3_calling(). The child would mark memory of the shared stack
 * as poisoned, and the parent would then fail on this memory. */
#elif defined(__x86_64__)
static long clone3_calling(struct clone_args *args, void (*entry)(void *), void *data)
{
	long result;

	__asm__ volatile("syscall\n\t"
			 "test %%rax, %%rax\n\t"
			 "jnz 1f\n\t"
			 "sub $256, %%rsp\n\t" /* skips the parent's red zone on the stack */
			 "and $-16, %%rsp\n\t"
			 "xor %%ebp, %%ebp\n\t"
			 "mov %[data], %%rdi\n\t"
			 "call *%[entry]\n\t"
			 "ud2\n"
			 "1:"
			 : "=a"(result)
			 : "a"((long)SYS_clone3), "D"(args),
			   "S"(sizeof(*args)), [entry] "r"(entry), [data] "r"(data)
			 : "rcx", "r11", "memory", "cc");
	return result;
}
#define HAVE_CLONE3_CALLING 1
#elif defined(__aarch64__)
static long clone3_calling(struct clone_args *args, void (*entry)(void *), void *data)
{
	register long x8 __asm__("x8") = SYS_clone3;
	register long x0 __asm__("x0") = (long)args;
	register long x1 __asm__("x1") = (long)sizeof(*args);
	register void (*x9)(void *) __asm__("x9") = entry;
	register void *x10 __asm__("x10") = data;

	__asm__ volatile("svc #0\n\t"
			 "cbnz x0, 1f\n\t"
			 "mov x29, #0\n\t"
			 "mov x0, x10\n\t"
			 "blr x9\n\t"
			 "brk #1\n"
			 "1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x9), "r"(x10)
			 : "memory", "cc");
	return x0;
}
#define HAVE_CLONE3_CALLING 1
#endif

pid_t clone_vfork(int cgroup_fd, int *pidfd, void (*entry)(void *data), void *data)
{
#ifdef HAVE_CLONE3_CALLING
	struct clone_args args = clone_arguments(CLONE_VM | CLONE_VFORK, cgroup_fd, pidfd);

	return (pid_t)clone3_calling(&args, entry, data);
#else
	(void)cgroup_fd;
	(void)pidfd;
	(void)entry;
	(void)data;
	return -ENOSYS;
#endif
}
