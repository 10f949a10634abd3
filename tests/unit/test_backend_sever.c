/* SPDX-License-Identifier: MIT */
/* Tests the quarantine of a VMM that does everything to keep a connection. The VMM is a process of
 * the test. */
#include "test_base.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "backend/parts/vm.h"
#include "backend/parts/vm_held.h"
#include "base/limits.h"
#include "base/loop.h"
#include "base/path.h"

#define FAR 700

static struct error err;

struct stage {
	struct loop *loop;
	struct vm vm;
	char place[32];
	int dir, far; /* far: our end of the connection that is to be cut */
	bool told, failed;
	struct error why;
};

static struct vmm_kind kind = {.name = "the VMM", .binds_sockets = true};

static void on_severed(void *data, const json_t *names, const struct error *why)
{
	struct stage *stage = data;

	(void)names;
	stage->told = true;
	stage->failed = why != NULL;
	if (why)
		stage->why = *why;
	loop_stop(stage->loop);
}

static void open_place(struct stage *stage)
{
	snprintf(stage->place, sizeof(stage->place), "/tmp/sever-XXXXXX");
	assert_non_null(mkdtemp(stage->place));
	stage->dir = open(stage->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(stage->dir >= 0);
	assert_int_equal(mkdirat(stage->dir, VM_RUN_DIR, 0700), 0);
}

/* What `work` does with its end of a connection. It says when it has begun. */
static void begin(struct stage *stage, void (*work)(int near, int begun))
{
	int pair[2], begun[2];
	char byte;
	pid_t pid;

	*stage = (struct stage){0};
	stage->loop = loop_new(&err);
	assert_non_null(stage->loop);
	open_place(stage);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(pipe(begun), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pair[0]);
		close(begun[0]);
		work(pair[1], begun[1]);
		_exit(1);
	}
	close(pair[1]);
	close(begun[1]);
	assert_int_equal(read(begun[0], &byte, 1), 1);
	close(begun[0]);
	stage->far = pair[0];
	stage->vm = (struct vm){.kind = &kind,
				.loop = stage->loop,
				.events = {.severed = on_severed, .data = stage},
				.cell = {.pid = pid, .pidfd = pidfd_open(pid, 0)},
				.workspace_fd = stage->dir};
	assert_true(stage->vm.cell.pidfd >= 0);
}

/* Returns whether the connection is over, when the VMM could go on. */
static void end(struct stage *stage, bool cut)
{
	struct pollfd far = {.fd = stage->far, .events = POLLIN};
	char byte;

	if (cut) {
		assert_int_equal(poll(&far, 1, 0), 1);
		assert_int_equal(read(stage->far, &byte, 1), 0);
	}
	kill(stage->vm.cell.pid, SIGKILL);
	assert_int_equal(waitpid(stage->vm.cell.pid, NULL, 0), stage->vm.cell.pid);
	close(stage->vm.cell.pidfd);
	close(stage->far);
	assert_ok(path_remove_tree_at(AT_FDCWD, stage->place, &err));
	close(stage->dir);
	loop_free(stage->loop);
}

static void sever(struct stage *stage)
{
	assert_ok(vm_sever(&stage->vm, &err));
	assert_ok(loop_run(stage->loop, &err));
	assert_true(stage->told);
}

static void say_begun(int begun)
{
	if (write(begun, "x", 1) != 1)
		_exit(1);
	close(begun);
}

static void just_hold(int near, int begun)
{
	(void)near;
	say_begun(begun);
	for (;;)
		pause();
}

static void a_connection_that_is_held_is_cut(void **state)
{
	struct stage stage;

	(void)state;
	begin(&stage, just_hold);
	sever(&stage);
	assert_false(stage.failed);
	assert_int_equal(faccessat(stage.dir, VM_RUN_DIR, F_OK, 0), -1);
	end(&stage, true);
}

/* The descriptor is on its way, in a socket of its own: no list has it. */
static void send_to_itself(int near, int begun)
{
	char control[CMSG_SPACE(sizeof(int))] = {0}, byte = 0;
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
	int own[2];

	*rights = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)),
				   .cmsg_level = SOL_SOCKET,
				   .cmsg_type = SCM_RIGHTS};
	memcpy(CMSG_DATA(rights), &near, sizeof(near));
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, own) < 0 || sendmsg(own[0], &message, 0) != 1)
		_exit(1);
	close(near);
	just_hold(-1, begun);
}

static void a_connection_in_flight_is_cut(void **state)
{
	struct stage stage;

	(void)state;
	begin(&stage, send_to_itself);
	sever(&stage);
	assert_false(stage.failed);
	end(&stage, true);
}

/* From a low number to a high one and back, which a reader of the list from below would miss. */
static void keep_moving(int near, int begun)
{
	int low = near;

	say_begun(begun);
	for (;;) {
		if (dup2(low, FAR) != FAR)
			_exit(1);
		close(low);
		if (dup2(FAR, low) != low)
			_exit(1);
		close(FAR);
	}
}

static void a_connection_that_moves_is_cut(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		struct stage stage;

		begin(&stage, keep_moving);
		sever(&stage);
		assert_false(stage.failed);
		end(&stage, true);
	}
}

static void on_continued(int number)
{
	(void)number;
}

#define FILLERS 10000
#define TIMERS \
	8 /* a stop discards the signal that one of them has just sent, and that one never sends
	   * again */

/* The kernel sends SIGCONT to it every millisecond, and it has so many descriptors that listing
 * them takes longer. A look during which it waits for a processor would be a proof, since it cannot
 * move anything then. So it runs before other programs of a busy machine. */
static void keep_waking(int near, int begun)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
	const struct sched_param first = {.sched_priority = 1};
	struct rlimit files;
	timer_t timer;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		_exit(1);
	files.rlim_cur = files.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &files) < 0)
		_exit(1);
	(void)sched_setscheduler(0, SCHED_FIFO, &first);
	for (int i = 0; i < FILLERS; i++)
		(void)!open("/dev/null", O_RDONLY | O_CLOEXEC);
	signal(SIGCONT, on_continued);
	for (int i = 0; i < TIMERS; i++) {
		const struct timespec every = {.tv_nsec = 1000000 + i * 77777};

		if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0 ||
		    timer_settime(timer, 0, &(struct itimerspec){every, every}, NULL) < 0)
			_exit(1);
	}
	just_hold(near, begun);
}

static void a_vmm_that_wakes_itself_proves_nothing(void **state)
{
	struct stage stage;

	(void)state;
	begin(&stage, keep_waking);
	assert_int_equal(vm_held(&stage.vm, &err), 1);
	assert_true(strstr(err.msg, "does not stop after a signal to stop") ||
		    strstr(err.msg, " did not stand still while its open sockets were counted"));
	end(&stage, false);
}

static void have_a_child(int near, int begun)
{
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		just_hold(near, begun);
	}
	close(near);
	close(begun);
	for (;;)
		pause();
}

static void a_connection_of_its_process_is_cut(void **state)
{
	struct stage stage;

	(void)state;
	begin(&stage, have_a_child);
	sever(&stage);
	assert_false(stage.failed);
	end(&stage, true);
}

static void more_names_than_are_looked_at(void **state)
{
	struct stage stage;
	char name[32];

	(void)state;
	begin(&stage, just_hold);
	limit_set(LIMIT_SEVER_NAMES, 50);
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), VM_RUN_DIR "/%d", i);
		assert_int_equal(mknodat(stage.dir, name, S_IFREG | 0600, 0), 0);
	}
	assert_int_equal(vm_sever(&stage.vm, &err), -1);
	assert_string_equal(err.msg, "the VMM has made more than 50 files in " VM_RUN_DIR
				     " of the workspace: it has a bug, or was taken over");
	loop_remove(stage.vm.sever_timer);
	end(&stage, false);
}

static void a_directory_among_its_names(void **state)
{
	struct stage stage;

	(void)state;
	begin(&stage, just_hold);
	assert_int_equal(mkdirat(stage.dir, VM_RUN_DIR "/below", 0700), 0);
	assert_int_equal(vm_sever(&stage.vm, &err), -1);
	assert_non_null(strstr(err.msg, VM_RUN_DIR "/below: "));
	loop_remove(stage.vm.sever_timer);
	end(&stage, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_that_is_held_is_cut),
		cmocka_unit_test(a_connection_in_flight_is_cut),
		cmocka_unit_test(a_connection_that_moves_is_cut),
		cmocka_unit_test(a_vmm_that_wakes_itself_proves_nothing),
		cmocka_unit_test(a_connection_of_its_process_is_cut),
		cmocka_unit_test(more_names_than_are_looked_at),
		cmocka_unit_test(a_directory_among_its_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
