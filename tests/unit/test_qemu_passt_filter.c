/* SPDX-License-Identifier: MIT */
/* Tests which sockets passt can make under its system call filter. passt has a filter of its own,
 * which ends it for some of these calls, so the test makes them. */
#include "test_base.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "backend/parts/passt_filter.h"

#define FAMILIES 64 /* more than there are */
#define TYPES 16
#define PROTOCOLS 300 /* IPPROTO_MPTCP is 262 */

static bool is_refused(long answer, int errnum)
{
	return answer == -1 && errno == errnum;
}

static bool is_wanted(int family, int type, int protocol)
{
	if (family == AF_NETLINK)
		return protocol == NETLINK_ROUTE;
	return (family == AF_INET || family == AF_INET6) &&
	       (type == SOCK_STREAM || type == SOCK_DGRAM) &&
	       (protocol == 0 || protocol == IPPROTO_TCP || protocol == IPPROTO_UDP ||
		protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6);
}

/* A wanted socket may fail for another reason, which only the kernel knows. */
static int make_every_socket(void)
{
	for (int family = 0; family < FAMILIES; family++)
		for (int type = 0; type < TYPES; type++)
			for (int protocol = 0; protocol < PROTOCOLS; protocol++) {
				int fd = socket(family, type | SOCK_CLOEXEC, protocol);

				if (fd >= 0)
					close(fd);
				if (!is_wanted(family, type, protocol) &&
				    !is_refused(fd, EAFNOSUPPORT))
					return 1;
			}
	return 0;
}

static int make_what_passt_makes(void)
{
	static const int made[][3] = {{AF_INET, SOCK_STREAM | SOCK_NONBLOCK, IPPROTO_TCP},
				      {AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP},
				      {AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE}};
	/* A kernel without IPv6, and one that lets nobody ping. */
	static const int other[][3] = {{AF_INET6, SOCK_STREAM, IPPROTO_TCP},
				       {AF_INET, SOCK_DGRAM, IPPROTO_ICMP}};

	for (size_t i = 0; i < ARRAY_SIZE(made); i++)
		if (socket(made[i][0], made[i][1], made[i][2]) < 0)
			return 1;
	for (size_t i = 0; i < ARRAY_SIZE(other); i++)
		if (socket(other[i][0], other[i][1], other[i][2]) < 0 &&
		    (other[i][0] == AF_INET6 ? errno != EAFNOSUPPORT : errno != EACCES))
			return 2;
	return 0;
}

/* The kernel looks at 32 bits of each argument. */
static int make_none_another_way(void)
{
	const unsigned long beside = 1ul << 32;
	char room[256] = {0};
	int ends[2];

	return is_refused(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), EAFNOSUPPORT) &&
			       is_refused(syscall(SYS_socket, beside | AF_UNIX, SOCK_DGRAM, 0),
					  EAFNOSUPPORT) &&
			       is_refused(syscall(SYS_socket, beside | AF_NETLINK, SOCK_RAW,
						  NETLINK_AUDIT),
					  EAFNOSUPPORT) &&
			       is_refused(syscall(SYS_socket, AF_NETLINK, SOCK_RAW,
						  beside | NETLINK_AUDIT),
					  EAFNOSUPPORT) &&
			       is_refused(syscall(SYS_socket, AF_INET, beside | SOCK_RAW, 0),
					  EAFNOSUPPORT) &&
			       is_refused(syscall(SYS_io_uring_setup, 1, room), ENOSYS) &&
			       is_refused(syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0),
					  ENOSYS) &&
			       is_refused(syscall(SYS_io_uring_register, -1, 0, NULL, 0), ENOSYS)
		       ? 0
		       : 1;
}

#ifdef __x86_64__
/* socketcall() of 32 bits, which was once the way to make a socket there. */
static int call_as_32_bits(void)
{
	long answer = 102;

	__asm__ volatile("int $0x80" : "+a"(answer) : "b"(1), "c"(0) : "memory");
	return 0;
}

#define X32 0x40000000
static int call_as_x32(void)
{
	syscall(X32 + SYS_socket, AF_UNIX, SOCK_DGRAM, 0);
	return 0;
}
#endif

/* Returns how a child ends that does this under the filter. */
static int status_of(int (*act)(void))
{
	struct error err;
	int fd = -1, status = -1;

	assert_ok(passt_filter_open(&fd, &err));
	off_t size = lseek(fd, 0, SEEK_END);
	struct sock_fprog program = {.filter = malloc((size_t)size)};
	assert_int_equal(pread(fd, program.filter, (size_t)size, 0), size);
	program.len = (unsigned short)((size_t)size / sizeof(*program.filter));
	close(fd);
	pid_t child = fork();
	if (child == 0) {
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
			_exit(100);
		_exit(act());
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	free(program.filter);
	return status;
}

static void sockets_of_the_internet_alone(void **state)
{
	(void)state;
	assert_int_equal(status_of(make_every_socket), 0);
	assert_int_equal(status_of(make_what_passt_makes), 0);
}

static void no_other_way_to_a_socket(void **state)
{
	(void)state;
	assert_int_equal(status_of(make_none_another_way), 0);
#ifdef __x86_64__
	assert_int_equal(WTERMSIG(status_of(call_as_32_bits)), SIGSYS);
	assert_int_equal(WTERMSIG(status_of(call_as_x32)), SIGSYS);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sockets_of_the_internet_alone),
		cmocka_unit_test(no_other_way_to_a_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
