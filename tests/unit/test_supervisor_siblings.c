/* SPDX-License-Identifier: MIT */
/* Tests the listener by which a template's memory is given. tests/e2e/test_saved_machines.py tests
 * the memory itself. */
#include "test_base.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "supervisor/templates/template_siblings.h"

static void nobody_has_come(void **state)
{
	const struct scratch *s = *state;
	struct error err = {0};
	autoclose int listener = sock_listen_at(s->fd, "siblings.sock", &err);

	assert_true(listener >= 0);
	assert_int_equal(template_memory_give(listener, listener), 0);
}

/* If the event loop watched such a descriptor, it would find it ready again and again. */
static void nobody_can_come(void **state)
{
	struct error err = {0};
	int ends[2];

	(void)state;
	assert_int_equal(fd_pipe(ends, &err), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	assert_int_equal(template_memory_give(ends[0], ends[1]), -1);
	close(ends[0]);
	close(ends[1]);
}

/* A sibling that gives the memory until it is killed. */
static pid_t give_to_all(const struct template_memory *memory)
{
	struct error err = {0};
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (fd_wait(memory->siblings_fd, POLLIN, UINT64_MAX, &err) == 0)
		(void)template_memory_give(memory->siblings_fd, memory->ram_fd);
	_exit(1);
}

static ino_t share_again(const struct scratch *s, int file)
{
	struct template_memory memory;
	struct error err = {0};
	struct stat st;

	assert_int_equal(template_memory_share(s->fd, file, &memory, &err), 0);
	assert_int_equal(fstat(memory.ram_fd, &st), 0);
	close(memory.ram_fd);
	close(memory.siblings_fd);
	return st.st_ino;
}

/* A live supervisor may give a file the modes 0600 and 0400. A VMM opens the memory as another
 * user, or for writing. */
static void rights_are_taken_from_it(void **state)
{
	const struct scratch *s = *state;
	autoclose int file = openat(s->fd, "ram", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct template_memory memory;
	struct error err = {0};
	struct stat made, now;
	ino_t same, other;
	pid_t sibling;
	int refused;

	assert_int_equal(write(file, "memory", 6), 6);
	assert_int_equal(template_memory_share(s->fd, file, &memory, &err), 0);
	assert_int_equal(fstat(memory.ram_fd, &made), 0);
	refused = fchmod(memory.ram_fd, 0400);
	assert_int_equal(fstat(memory.ram_fd, &now), 0);
	/* Linux 6.3, unless the administrator has all such files made without the right to
	 * execute. */
	if (made.st_mode & 0111 && fcntl(memory.ram_fd, F_GET_SEALS) & 0x20)
		assert_true(refused < 0 && now.st_mode == made.st_mode);
	sibling = give_to_all(&memory);
	same = now.st_mode == made.st_mode ? share_again(s, file) : made.st_ino;
	assert_int_equal(fchmod(memory.ram_fd, made.st_mode & 0111), 0);
	other = share_again(s, file);
	kill(sibling, SIGKILL);
	assert_int_equal(waitpid(sibling, NULL, 0), sibling);
	assert_int_equal(same, made.st_ino);
	assert_int_not_equal(other, made.st_ino);
	close(memory.ram_fd);
	close(memory.siblings_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nobody_has_come, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(nobody_can_come, scratch_make, scratch_remove),
		cmocka_unit_test_setup_teardown(rights_are_taken_from_it, scratch_make,
						scratch_remove),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
