/* SPDX-License-Identifier: MIT */
/* Tests a share's server under its system call filter: what it can do to files, and what it cannot
 * make. virtiofsd has a list of calls of its own, which ends it for some of these, so the test
 * makes them. */
#include "test_base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "backend/parts/share_filter.h"

#define SETXATTRAT 463
#define REMOVEXATTRAT 466
#define F_LINUX_SETDELEG (F_SETLEASE + 16)
#define NAME "user.name"

static const char *file; /* of the test */

static bool is_refused(long answer, int errnum)
{
	return answer == -1 && errno == errnum;
}

static void *do_nothing(void *data)
{
	return data;
}

/* A socket that another process hands on; any number stands for it here, since the filter looks at
 * no descriptor. */
static bool is_no_socket_readdressed(void)
{
	const struct sockaddr_un to = {.sun_family = AF_UNIX};
	const struct sockaddr *address = (const struct sockaddr *)&to;
	struct mmsghdr message = {.msg_len = 0};

	return is_refused(bind(-1, address, sizeof(to)), EPERM) &&
	       is_refused(connect(-1, address, sizeof(to)), EPERM) &&
	       is_refused(listen(-1, 1), EPERM) &&
	       is_refused(sendto(-1, "", 1, MSG_FASTOPEN, address, sizeof(to)), EPERM) &&
	       is_refused(sendmsg(-1, &message.msg_hdr, MSG_FASTOPEN), EPERM) &&
	       is_refused(sendmmsg(-1, &message, 1, MSG_FASTOPEN), EPERM) &&
	       is_refused(sendmsg(-1, &message.msg_hdr, 0), EBADF);
}

/* The calls that are refused in each share, and a thread, which is not refused. */
static int make_no_socket_and_no_namespace(void)
{
	pthread_t thread;
	int ends[2];

	if (!is_no_socket_readdressed())
		return 2;
	return is_refused(socket(AF_UNIX, SOCK_STREAM, 0), EPERM) &&
			       is_refused(socket(AF_INET, SOCK_STREAM, 0), EPERM) &&
			       is_refused(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), EPERM) &&
			       is_refused(unshare(CLONE_NEWUSER), EPERM) &&
			       is_refused(unshare(CLONE_FS | CLONE_NEWNS), EPERM) &&
			       is_refused(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0),
					  EPERM) &&
			       is_refused(syscall(SYS_clone3, 0, 0), ENOSYS) &&
			       is_refused(setns(-1, 0), EPERM) && unshare(CLONE_FS) == 0 &&
			       pthread_create(&thread, NULL, do_nothing, NULL) == 0 &&
			       pthread_join(thread, NULL) == 0
		       ? 0
		       : 1;
}

/* A command of fcntl() beyond 32 bits, which the kernel cuts off. */
static bool is_no_command(unsigned long command, long argument, int errnum)
{
	return is_refused(syscall(SYS_fcntl, -1, command, argument), errnum) &&
	       is_refused(syscall(SYS_fcntl, -1, command | 1ul << 32, argument), errnum);
}

/* No lease of a file, and no signal from the kernel. EBADF, for no descriptor, means that it is not
 * refused. */
static int hold_up_nobody(void)
{
	int on = 1;

	return is_no_command(F_SETLEASE, F_WRLCK, EPERM) &&
			       is_no_command(F_SETLEASE, F_UNLCK, EPERM) &&
			       is_no_command(F_LINUX_SETDELEG, 0, EPERM) &&
			       is_no_command(F_NOTIFY, DN_CREATE, EPERM) &&
			       is_no_command(F_SETOWN, getppid(), EPERM) &&
			       is_no_command(F_SETOWN_EX, 0, EPERM) &&
			       is_no_command(F_SETSIG, SIGKILL, EPERM) &&
			       is_no_command(F_SETFL, O_ASYNC | O_NONBLOCK, EPERM) &&
			       is_no_command(F_SETFL, O_NONBLOCK, EBADF) &&
			       is_no_command(F_SETLK, 0, EBADF) &&
			       is_no_command(F_DUPFD_CLOEXEC, 3, EBADF) &&
			       is_refused(ioctl(-1, FIOASYNC, &on), EPERM) &&
			       is_refused(ioctl(-1, FIOSETOWN, &on), EPERM) &&
			       is_refused(ioctl(-1, SIOCSPGRP, &on), EPERM) &&
			       is_refused(ioctl(-1, FIONBIO, &on), EBADF)
		       ? 0
		       : 1;
}

static int give_no_rights(void)
{
	int fd = open(file, O_RDONLY);

	return fd >= 0 && is_refused(setxattr(file, NAME, "x", 1, 0), EPERM) &&
			       is_refused(lsetxattr(file, NAME, "x", 1, 0), EPERM) &&
			       is_refused(fsetxattr(fd, NAME, "x", 1, 0), EPERM) &&
			       is_refused(syscall(SETXATTRAT, AT_FDCWD, file, 0, NAME, NULL, 0),
					  EPERM) &&
			       is_refused(removexattr(file, NAME), EPERM) &&
			       is_refused(lremovexattr(file, NAME), EPERM) &&
			       is_refused(fremovexattr(fd, NAME), EPERM) &&
			       is_refused(syscall(REMOVEXATTRAT, AT_FDCWD, file, 0, NAME), EPERM) &&
			       is_refused(fchmod(fd, 04755), EPERM) &&
			       is_refused(chmod(file, 02755), EPERM) && fchmod(fd, 0755) == 0
		       ? 0
		       : 1;
}

/* EOPNOTSUPP: this file system has no such attributes. */
static int give_rights(void)
{
	return (setxattr(file, NAME, "x", 1, 0) == 0 || errno == EOPNOTSUPP) &&
			       chmod(file, 04755) == 0
		       ? 0
		       : 1;
}

static struct sock_fprog compile(bool containers)
{
	struct error err;
	int fd = -1;

	assert_ok(share_filter_open(containers, &fd, &err));
	off_t size = lseek(fd, 0, SEEK_END);
	struct sock_fprog program = {.filter = malloc((size_t)size)};
	assert_int_equal(pread(fd, program.filter, (size_t)size, 0), size);
	program.len = (unsigned short)((size_t)size / sizeof(*program.filter));
	close(fd);
	return program;
}

static void assert_does(bool containers, int (*act)(void))
{
	struct sock_fprog program = compile(containers);
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
			_exit(100);
		_exit(act());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	free(program.filter);
}

static void no_socket_and_no_namespace(void **state)
{
	(void)state;
	assert_does(false, make_no_socket_and_no_namespace);
	assert_does(true, make_no_socket_and_no_namespace);
}

static void nobody_is_held_up(void **state)
{
	(void)state;
	assert_does(false, hold_up_nobody);
	assert_does(true, hold_up_nobody);
}

static void rights_of_files_are_of_containers_alone(void **state)
{
	const struct scratch *scratch = *state;
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/file", scratch->path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	assert_true(fd >= 0);
	close(fd);
	file = path;
	assert_does(false, give_no_rights);
	assert_does(true, give_rights);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_socket_and_no_namespace),
		cmocka_unit_test(nobody_is_held_up),
		cmocka_unit_test_setup_teardown(rights_of_files_are_of_containers_alone,
						scratch_make, scratch_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
