/* SPDX-License-Identifier: MIT */
/* Tests the tap of a cell: it is made in the namespace of another process, and carries frames both
 * ways. The test runs as its user, and also as an ordinary user if that is root. */
#include "test_base.h"

#include <errno.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/parts/cell.h"
#include "backend/parts/cell_tap.h"
#include "base/fd.h"

#define NAME "tap0"
enum { ORDINARY = 12345, LENGTH = 1000, HEADER = 10, SKIPPED = 77, PATIENCE_MS = 10000 };
/* A queueing discipline drops half of the first frames, and the rest arrives. */
#define TRIES 20

/* Returns /dev/net/tun, or a node that root has made for others, since not every host gives it to
 * all. */
static char tun[80] = CELL_TUN;

static void die(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	_exit(1);
}

static void map_own_user(uid_t user)
{
	int fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || dprintf(fd, "%u %u 1", user, user) < 0)
		die("uid_map");
	close(fd);
}

/* As bwrap leaves it: the process has no right in its namespaces except that it owns the tap. */
static void enter_cell(int sync, uid_t owner)
{
	uid_t user = geteuid();
	char byte;

	if (unshare((user ? CLONE_NEWUSER : 0) | CLONE_NEWNET) < 0)
		die("unshare");
	if (user)
		map_own_user(user);
	if (write(sync, "", 1) != 1 || read(sync, &byte, 1) != 1)
		_exit(2);
	if (setresuid(owner, owner, owner) < 0)
		die("setresuid");
}

/* A VMM in its cell opens the tap, takes a frame that is sent at that moment, and sends one. */
static void vmm(int sync, uid_t owner)
{
	struct ifreq request = {.ifr_name = NAME, .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR};
	uint8_t frame[HEADER + LENGTH] = {0};

	enter_cell(sync, owner);
	int fd = open(tun, O_RDWR | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &request) < 0)
		die("the tap");
	if (write(sync, "", 1) != 1)
		_exit(3);
	struct pollfd readable = {.fd = fd, .events = POLLIN};
	if (poll(&readable, 1, PATIENCE_MS) != 1 ||
	    read(fd, frame, sizeof(frame)) != HEADER + LENGTH || frame[HEADER] != 0x52)
		_exit(4);
	memset(frame + HEADER, 0xff, LENGTH);
	if (write(fd, frame, sizeof(frame)) != sizeof(frame))
		_exit(5);
	/* The tap got no frames of the namespace itself. */
	_exit(poll(&readable, 1, 0) == 0 ? 0 : 6);
}

static pid_t start_vmm(int *sync)
{
	uid_t id = cell_id(), owner = id ? id : geteuid();
	struct error err = {0};
	int pair[2];

	if (fd_socketpair(pair, &err) < 0)
		_exit(7);
	pid_t pid = fork();
	if (pid == 0) {
		close(pair[0]);
		vmm(pair[1], owner);
	}
	close(pair[1]);
	*sync = pair[0];
	return pid;
}

static bool swap_frames(int fd, int sync)
{
	struct pollfd readable = {.fd = fd, .events = POLLIN};
	uint8_t frame[HEADER + LENGTH + 1] = {[HEADER] = 0x52};
	char byte;

	return write(sync, "", 1) == 1 && read(sync, &byte, 1) == 1 &&
	       send(fd, frame, HEADER + LENGTH, 0) == HEADER + LENGTH &&
	       poll(&readable, 1, PATIENCE_MS) == 1 &&
	       recv(fd, frame, sizeof(frame), 0) == HEADER + LENGTH && frame[HEADER] == 0xff;
}

/* Returns 0, SKIPPED, or where it went wrong. */
static int exchange(void)
{
	struct cell_tap tap = {-1, -1};
	struct error err = {0};
	char byte;
	int sync, status = 0;
	pid_t pid = start_vmm(&sync);
	struct proc vmm;
	bool ready = read(sync, &byte, 1) == 1 && proc_hold(pid, &vmm, &err) == 0;

	if (ready && cell_tap_make(&vmm, NAME, &tap, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		proc_let_go(&vmm);
		close(sync);
		waitpid(pid, NULL, 0);
		return err.errnum == ENOENT || err.errnum == EACCES ? SKIPPED : 10;
	}
	if (ready && !swap_frames(tap.packet_fd, sync))
		fprintf(stderr, "no frame of the VMM\n");
	close(sync);
	if (ready)
		proc_let_go(&vmm);
	close(tap.packet_fd);
	close(tap.control_fd);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 11;
}

static void judge(int code)
{
	if (code == SKIPPED) {
		print_message("skipped: namespaces or " CELL_TUN " are not to be had here\n");
		skip();
	}
	assert_int_equal(code, 0);
}

static void the_first_frame_arrives(void **state)
{
	const struct scratch *s = *state;
	uid_t id = cell_id();
	int code = 0;

	if (id) { /* as the cell's own node */
		snprintf(tun, sizeof(tun), "%s/tun", s->path);
		assert_int_equal(mknod(tun, S_IFCHR | 0600, makedev(10, 200)), 0);
		assert_int_equal(chown(tun, id, id), 0);
		assert_int_equal(chmod(s->path, 0711), 0);
	}
	for (int i = 0; i < TRIES && code == 0; i++)
		code = exchange();
	snprintf(tun, sizeof(tun), CELL_TUN);
	judge(code);
}

static void as_an_ordinary_user(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		/* Without the second one /proc/self is root's. */
		if (geteuid() == 0 &&
		    (setresuid(ORDINARY, ORDINARY, ORDINARY) < 0 || prctl(PR_SET_DUMPABLE, 1) < 0))
			_exit(8);
		_exit(exchange());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	judge(WEXITSTATUS(status));
}

static void there_is_no_such_process(void **state)
{
	const struct proc none = {.pid = 1 << 22, .pidfd = -1};
	struct cell_tap tap = {-1, -1};
	struct error err = {0};

	(void)state;
	assert_int_equal(cell_tap_make(&none, NAME, &tap, &err), -1);
	assert_non_null(strstr(err.msg, "network: the cell"));
	assert_int_equal(tap.packet_fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_first_frame_arrives, scratch_make,
						scratch_remove),
		cmocka_unit_test(as_an_ordinary_user),
		cmocka_unit_test(there_is_no_such_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
