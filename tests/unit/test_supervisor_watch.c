/* SPDX-License-Identifier: MIT */
/* Tests what is watched from outside: the children and sockets of a process, here one of ours, and
 * a base. */
#include "test_base.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/live/watch_base.h"
#include "supervisor/live/watch_opens.h"
#include "supervisor/live/watch_vmm.h"

/* A process that does what a byte says, and reports when it is done. */
struct puppet {
	struct proc proc;
	int fd;
};

static void obey(int fd)
{
	char order;

	while (read(fd, &order, 1) == 1) {
		if (order == 's' && socket(AF_UNIX, SOCK_STREAM, 0) < 0)
			_exit(1);
		if (order == 'f' && fork() == 0) {
			pause();
			_exit(0);
		}
		if (write(fd, &order, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static int begin(void **state)
{
	static struct puppet puppet;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		return -1;
	puppet.proc.pid = fork();
	if (puppet.proc.pid == 0) {
		setpgid(0, 0);
		close(ends[0]);
		obey(ends[1]);
	}
	setpgid(puppet.proc.pid, puppet.proc.pid);
	close(ends[1]);
	puppet.fd = ends[0];
	*state = &puppet;
	return puppet.proc.pid < 0 ? -1 : proc_adopt(&puppet.proc, NULL);
}

static int finish(void **state)
{
	struct puppet *puppet = *state;

	kill(-puppet->proc.pid, SIGKILL);
	while (waitpid(puppet->proc.pid, NULL, 0) < 0)
		if (errno != EINTR)
			break;
	proc_let_go(&puppet->proc);
	close(puppet->fd);
	return 0;
}

static void order(const struct puppet *puppet, char what)
{
	char done = 0;

	assert_int_equal(write(puppet->fd, &what, 1), 1);
	assert_int_equal(read(puppet->fd, &done, 1), 1);
	assert_int_equal(done, what);
}

/* Returns the news, as "socket" and "child" in one text. */
static void expect_news(struct watch_vmm *watch, const char *wanted)
{
	struct error err = {0};
	json_auto_t *found = watch_vmm_look(watch, &err);
	char text[256] = "";
	const json_t *item;
	size_t i;

	assert_non_null(found);
	json_array_foreach(found, i, item)
	{
		size_t used = strlen(text);

		snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
			 json_string_value(json_object_get(item, "what")));
	}
	assert_string_equal(text, wanted);
}

static void what_a_vmm_should_not_have(void **state)
{
	const struct puppet *puppet = *state;
	struct watch_vmm watch = {0};
	struct error err = {0};

	order(puppet, 's'); /* it has them when it is trusted */
	order(puppet, 'f');
	assert_int_equal(watch_vmm_expect(&watch, &puppet->proc, &err), 0);
	expect_news(&watch, "");
	order(puppet, 's');
	order(puppet, 'f');
	expect_news(&watch, "socket child");
	expect_news(&watch, ""); /* each once */
	order(puppet, 'f');
	order(puppet, 'f');
	expect_news(&watch, "child child");
}

/* A device may add so many sockets. One more, and any child, is news. */
static void what_it_gets_by_a_device(void **state)
{
	const struct puppet *puppet = *state;
	struct watch_vmm watch = {0};
	struct error err = {0};

	assert_int_equal(watch_vmm_expect(&watch, &puppet->proc, &err), 0);
	watch.allowed = 2;
	order(puppet, 's');
	order(puppet, 'f');
	expect_news(&watch, "child");
	order(puppet, 's');
	order(puppet, 's');
	expect_news(&watch, "socket");
	assert_int_equal(watch.allowed, 0);
	watch.allowed = 2;
	order(puppet, 's');
	expect_news(&watch, "");
	watch.allowed = 0; /* over: what was not used is not kept */
	order(puppet, 's');
	expect_news(&watch, "socket");
}

static void one_that_is_gone(void **state)
{
	const struct puppet *puppet = *state;
	struct watch_vmm watch = {0};
	struct error err = {0};
	json_auto_t *found = NULL;

	assert_int_equal(watch_vmm_expect(&watch, &puppet->proc, &err), 0);
	kill(-puppet->proc.pid, SIGKILL);
	assert_int_equal(waitpid(puppet->proc.pid, NULL, 0), puppet->proc.pid);
	found = watch_vmm_look(&watch, &err);
	assert_null(found);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, "has ended"));
}

static void a_base_that_changes(void **state)
{
	static const struct timespec earlier[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	char path[] = "/tmp/microagent-watch-XXXXXX", other[64];
	int fd = mkstemp(path);
	struct error err = {0};
	struct watch_base watch = {0};

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(watch_base_begin(&watch, path, &err), 0);
	assert_null(watch_base_look(&watch));
	assert_int_equal(futimens(fd, earlier), 0);
	assert_string_equal(watch_base_look(&watch), "was written");
	assert_null(watch_base_look(&watch)); /* once */
	watch_base_end(&watch);
	assert_int_equal(watch_base_begin(&watch, path, &err), 0);
	assert_int_equal(fchmod(fd, 0400), 0); /* which comes before it can be written to */
	assert_string_equal(watch_base_look(&watch), "was given other attributes");
	assert_null(watch_base_look(&watch));
	assert_int_equal(ftruncate(fd, 1), 0);
	assert_string_equal(watch_base_look(&watch), "was written");
	watch_base_end(&watch);
	assert_int_equal(watch_base_begin(&watch, path, &err), 0);
	snprintf(other, sizeof(other), "%s.new", path);
	close(open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(rename(other, path), 0);
	assert_string_equal(watch_base_look(&watch), "was replaced");
	watch_base_end(&watch);
	assert_int_equal(watch_base_begin(&watch, path, &err), 0);
	assert_int_equal(unlink(path), 0);
	assert_string_equal(watch_base_look(&watch), "is gone");
	watch_base_end(&watch);
	assert_int_equal(watch_base_begin(&watch, path, &err), -1);
	close(fd);
}

/* Opens a file in a process of its own, which then waits to be killed. */
static pid_t open_elsewhere(const char *path)
{
	int ends[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		byte = open(path, O_RDONLY | O_CLOEXEC) < 0 ? 'n' : 'y';
		(void)!write(ends[1], &byte, 1);
		pause();
		_exit(0);
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(byte, 'y');
	close(ends[0]);
	close(ends[1]);
	return pid;
}

static void none_is_told(void *data, json_t *what)
{
	(void)data;
	json_decref(what);
}

/* The broker reports a process that opened a file of the session, once, and only if it is asked
 * for. */
static void a_broker_names_openers_alone(void **state)
{
	static struct broker_message in, out;
	const struct {
		pid_t pid;
		int library;
	} asked = {getppid(), 1};
	char path[] = "/tmp/microagent-opens-XXXXXX", file[64], exe[4096] = "";
	struct error err = {0};
	struct loop *loop = loop_new(&err);
	struct watch_opens *watch;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(path));
	snprintf(file, sizeof(file), "%s/rootfs.ext4", path);
	autoclose int made = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	autoclose int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	watch = watch_opens_new(loop, dir, none_is_told, NULL, &err);
	if (!watch && err.code == ERR_DENIED) {
		print_message("fanotify is refused here: %s\n", err.msg);
		skip();
	}
	assert_non_null(watch);
	memcpy(in.bytes, &asked, sizeof(asked));
	in.len = sizeof(asked);
	assert_int_equal(watch_opens_duty.fn(watch, &in, &out, &err), -1);
	assert_string_equal(
		err.msg,
		"the broker refuses a request about openings of files, because it is malformed or the machine's files are not watched: this is a bug, or the live supervisor was taken over");
	in.len = out.len = 0;
	assert_int_equal(watch_opens_duty.fn(watch, &in, &out, &err), 0);
	assert_int_equal(out.len, 0);
	pid = open_elsewhere(file);
	assert_int_equal(watch_opens_duty.fn(watch, &in, &out, &err), 0);
	assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	assert_int_equal(memcmp(out.bytes, &pid, sizeof(pid)), 0);
	assert_non_null(memmem(out.bytes, out.len, "rootfs.ext4", sizeof("rootfs.ext4")));
	assert_non_null(memmem(out.bytes, out.len, exe, strlen(exe) + 1));
	out.len = 0;
	assert_int_equal(watch_opens_duty.fn(watch, &in, &out, &err), 0);
	assert_int_equal(out.len, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	watch_opens_free(watch);
	loop_free(loop);
	unlink(file);
	rmdir(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_a_vmm_should_not_have, begin, finish),
		cmocka_unit_test_setup_teardown(what_it_gets_by_a_device, begin, finish),
		cmocka_unit_test_setup_teardown(one_that_is_gone, begin, finish),
		cmocka_unit_test(a_base_that_changes),
		cmocka_unit_test(a_broker_names_openers_alone),
	};

	return cmocka_run_group_tests_name("supervisor watch", tests, NULL, NULL);
}
