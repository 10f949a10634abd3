/* SPDX-License-Identifier: MIT */
/*
 * Tests the life of a VM without a cell. Shell scripts play QEMU and vsockd. The tests check who
 * ends when, in what order, and what is reported. The scripts get the real descriptors (QMP is 3,
 * serial is 4).
 */
#include "qemu_vm_fixture.h"

/* --- ends ------------------------------------------------------------------------------------ */

static void a_guest_that_switches_itself_off(void **state)
{
	struct fixture *f = *state;

	runs_to_its_end(f, SPEAKS "echo bye >&4; " SAYS_OFF "exit 0", SERVES);
	assert_int_equal(f->end, VM_END_POWERED_OFF);
	assert_string_equal(f->detail, "");
	assert_string_equal(f->serial, "bye\n");
	assert_int_equal(f->losses, 0);
}

static void a_qemu_that_fails_says_why(void **state)
{
	struct fixture *f = *state;

	runs_to_its_end(f, "echo 'no such machine' >&2; exit 3", SERVES);
	assert_int_equal(f->end, VM_END_CRASHED);
	assert_string_equal(f->detail, "QEMU ended by itself with code 3: no such machine");
}

static void a_qemu_that_is_killed(void **state)
{
	struct fixture *f = *state;

	runs_to_its_end(f, SPEAKS "kill -9 $$", SERVES);
	assert_int_equal(f->end, VM_END_CRASHED);
	assert_string_equal(f->detail, "QEMU died by signal 9");
}

static void a_kill_of_ours(void **state)
{
	struct fixture *f = *state;

	f->stop_at = "up";
	booted(f, SPEAKS "echo up >&4; " FOREVER, FOREVER);
	run(f);
	backend_qemu.kill(f->vm);
	backend_qemu.kill(f->vm);
	run(f);
	assert_int_equal(f->ended, 1);
	assert_int_equal(f->end, VM_END_KILLED);
}

static void the_owner_may_free_at_the_end(void **state)
{
	struct fixture *f = *state;

	f->free_when_ended = true;
	runs_to_its_end(f, SPEAKS SAYS_OFF "exit 0", SERVES);
	assert_null(f->vm);
}

static void a_free_kills_and_reaps(void **state)
{
	struct fixture *f = *state;

	booted(f, FOREVER, FOREVER);
	backend_qemu.free(f->vm);
	f->vm = NULL;
	assert_int_equal(f->ended, 0);
}

/* --- companions and misbehaviour ------------------------------------------------------------- */

static void a_vsockd_that_dies_is_lost(void **state)
{
	struct fixture *f = *state;

	f->kill_when_lost = true;
	runs_to_its_end(f, SPEAKS FOREVER, "exit 9");
	assert_int_equal(f->losses, 1);
	assert_string_equal(f->lost, "microagent-vsockd");
	assert_int_equal(f->lost_code, 9);
	assert_int_equal(f->end, VM_END_KILLED);
}

/* Whichever of the two is noticed first. */
static void a_qemu_that_dies_of_a_lost_vsockd(void **state)
{
	struct fixture *f = *state;

	runs_to_its_end(f, "exit 1", "/bin/cat <&3 >/dev/null; exit 9");
	assert_int_equal(f->losses, 1);
	assert_int_equal(f->lost_code, 9);
}

/* Code 0 may be the first sign of QEMU's own end, so QEMU gets a moment. */
static void a_vsockd_that_leaves_is_lost_too(void **state)
{
	struct fixture *f = *state;

	limit_set(LIMIT_VMM_END_MS, 20);
	f->kill_when_lost = true;
	runs_to_its_end(f, SPEAKS FOREVER, "exit 0");
	assert_int_equal(f->losses, 1);
	assert_int_equal(f->lost_code, 0);
}

static void a_vsockd_that_stays_is_killed(void **state)
{
	struct fixture *f = *state;

	limit_set(LIMIT_VMM_END_MS, 20);
	runs_to_its_end(f, SPEAKS SAYS_OFF "exit 0", FOREVER);
	assert_int_equal(f->end, VM_END_POWERED_OFF);
	assert_int_equal(f->losses, 0);
}

/* Writing a disk's data takes time. This is no loss of vsockd, which leaves before. */
static void an_end_that_was_told_may_take_longer(void **state)
{
	struct fixture *f = *state;

	limit_set(LIMIT_VMM_END_MS, 1);
	/* 6 is QEMU's end of the connection; when it ends, vsockd leaves. */
	runs_to_its_end(f, SPEAKS SAYS_OFF "exec 6>&-; /bin/sleep 0.2; exit 0", SERVES);
	assert_int_equal(f->end, VM_END_POWERED_OFF);
	assert_int_equal(f->losses, 0);
}

static void a_qemu_without_its_monitor_is_ended(void **state)
{
	struct fixture *f = *state;

	limit_set(LIMIT_VMM_END_MS, 20);
	runs_to_its_end(f, SPEAKS "exec 3>&-; " FOREVER, FOREVER);
	assert_int_equal(f->end, VM_END_CRASHED);
	assert_string_equal(f->detail, "QEMU closed its monitor but did not end");
}

static void a_breach_of_the_monitor_ends_qemu(void **state)
{
	struct fixture *f = *state;

	runs_to_its_end(f, SPEAKS "echo nonsense >&3; " FOREVER, SERVES);
	assert_int_equal(f->end, VM_END_CRASHED);
	assert_memory_equal(f->detail, "QEMU's monitor: ", 16);
}

/* --- channels -------------------------------------------------------------------------------- */

static void commands_reach_the_monitor(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	f->stop_at = "{\"execute\":\"cont\",\"id\":";
	booted(f, SPEAKS "while read line; do echo \"$line\" >&4; done <&3", SERVES);
	assert_ok(backend_qemu.power_button(f->vm, &err));
	assert_ok(backend_qemu.resume(f->vm, &err));
	run(f);
	assert_non_null(strstr(f->serial, f->config.architecture ? "send-key" : "powerdown"));
}

/* QEMU is asked why it stands still, and then for its disks. */
static void a_full_disk_is_told(void **state)
{
	struct fixture *f = *state;

	booted(f,
	       SPEAKS
	       "echo '{\"event\": \"STOP\"}' >&3; read line <&3; id=${line##*:}; "
	       "echo \"{\\\"return\\\": {\\\"status\\\": \\\"io-error\\\"}, \\\"id\\\": $id\" "
	       ">&3; read line <&3; id=${line##*:}; "
	       "echo \"{\\\"return\\\": [{\\\"io-status\\\": \\\"nospace\\\", "
	       "\\\"inserted\\\": {\\\"node-name\\\": \\\"rootfs\\\"}}], \\\"id\\\": $id\" "
	       ">&3; " FOREVER,
	       SERVES);
	run(f);
	assert_string_equal(f->full, "disk rootfs: No space left on device");
}

static void on_done(void *data, const struct error *why)
{
	struct fixture *f = data;

	snprintf(f->detail, sizeof(f->detail), "%.100s", why ? why->msg : "paused");
	loop_stop(f->loop);
}

/* A request that QEMU refuses has no effect, and can be made again. */
static void a_pause_is_one_when_qemu_says_so(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	booted(f,
	       SPEAKS "read line <&3; id=${line##*:}; "
		      "echo \"{\\\"error\\\": {\\\"desc\\\": \\\"not now\\\"}, \\\"id\\\": $id\" "
		      ">&3; read line <&3; id=${line##*:}; "
		      "echo \"{\\\"return\\\": {}, \\\"id\\\": $id\" >&3; " FOREVER,
	       SERVES);
	assert_ok(backend_qemu.pause(f->vm, on_done, f, &err));
	assert_int_equal(backend_qemu.pause(f->vm, on_done, f, &err), -1);
	assert_int_equal(err.code, ERR_CONFLICT);
	run(f);
	assert_string_equal(f->detail, "QEMU: not now");
	assert_ok(backend_qemu.pause(f->vm, on_done, f, &err));
	run(f);
	assert_string_equal(f->detail, "paused");
}

/* Without a cell, kernel and initrd are copies that QEMU's user can open by their numbers. */
static void a_bare_qemu_can_read_its_kernel(void **state)
{
	struct fixture *f = *state;

	runs_to_its_end(f,
			"for word; do case $word in /proc/self/fd/*) /bin/cat $word >&4;; esac; "
			"done; exit 1",
			SERVES);
	assert_string_equal(f->serial, "kernel byteskernel bytes");
}

static void vsockd_is_told_what_it_serves(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};
	autobuf struct buf words = BUF_INIT(4096);
	char ids[64] = "", expected[512];

	runs_to_its_end(f, "exit 1", "echo \"$@\" > \"$0.words\"; " SERVES);
	assert_ok(path_read_file_at(f->scratch->fd, "microagent-vsockd.words", &words, &err));
	if (cell_id())
		snprintf(ids, sizeof(ids), " --uid %u --gid %u", cell_id(), cell_id());
	snprintf(expected, sizeof(expected),
		 "--caller " MICROAGENT_VERSION
		 " --label /state/vm --vhost-fd 3 --vsock-fd 4 --lease-fd 5 --busy-fd 6 "
		 "--guest-cid 3 --unconfined%s --host-port 1024=%s/vsock.sock_1024\n",
		 ids, f->scratch->path);
	assert_string_equal(buf_string(&words), expected);
}

/* --- failures of boot ------------------------------------------------------------------------ */

static void a_missing_vsockd_starts_nothing(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	assert_null(boot(f, FOREVER, NULL, &err));
	assert_code(err, ERR_UNAVAILABLE);
	assert_non_null(strstr(err.msg, "microagent-vsockd"));
}

static void a_missing_qemu_names_what_was_asked_for(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	f->config.confinement = CONFINEMENT_CELL;
	assert_null(boot(f, FOREVER, SERVES, &err)); /* no cell, no machine */
	assert_string_equal(err.msg, "bwrap is not installed: apt-get install bubblewrap");
	f->config.confinement = CONFINEMENT_SECCOMP;
	setenv("MICROAGENT_QEMU", "/nonexistent/qemu", 1);
	assert_null(boot(f, FOREVER, SERVES, &err));
	assert_code(err, ERR_UNAVAILABLE);
	assert_non_null(strstr(err.msg, "/nonexistent/qemu"));
	assert_int_equal(backend_qemu.check(&f->config, &err), -1);
	unsetenv("MICROAGENT_QEMU");
	assert_int_equal(backend_qemu.check(&f->config, &err), -1);
	assert_code(err, ERR_UNAVAILABLE);
	assert_non_null(strstr(err.msg, f->config.architecture ? "qemu-system-arm" : "-x86"));
}

static void describe_names_every_process(void **state)
{
	struct fixture *f = *state;

	booted(f, FOREVER, FOREVER);
	json_auto_t *facts = backend_qemu.describe(f->vm);
	const json_t *companions = json_object_get(facts, "companions");
	json_int_t qemu = json_integer_value(json_object_get(facts, "pid"));
	json_int_t vsockd =
		json_integer_value(json_object_get(json_array_get(companions, 0), "pid"));

	assert_int_equal(json_array_size(companions), 1);
	assert_int_equal(kill((pid_t)qemu, 0), 0);
	assert_int_equal(kill((pid_t)vsockd, 0), 0);
	assert_string_equal(json_string_value(json_object_get(facts, "confinement")), "seccomp");
}

#define WITH(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH(a_guest_that_switches_itself_off),
		WITH(a_qemu_that_fails_says_why),
		WITH(a_qemu_that_is_killed),
		WITH(a_kill_of_ours),
		WITH(the_owner_may_free_at_the_end),
		WITH(a_free_kills_and_reaps),
		WITH(a_qemu_that_dies_of_a_lost_vsockd),
		WITH(a_vsockd_that_dies_is_lost),
		WITH(a_vsockd_that_leaves_is_lost_too),
		WITH(a_vsockd_that_stays_is_killed),
		WITH(an_end_that_was_told_may_take_longer),
		WITH(a_qemu_without_its_monitor_is_ended),
		WITH(a_breach_of_the_monitor_ends_qemu),
		WITH(commands_reach_the_monitor),
		WITH(a_full_disk_is_told),
		WITH(a_pause_is_one_when_qemu_says_so),
		WITH(a_bare_qemu_can_read_its_kernel),
		WITH(vsockd_is_told_what_it_serves),
		WITH(a_missing_vsockd_starts_nothing),
		WITH(a_missing_qemu_names_what_was_asked_for),
		WITH(describe_names_every_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
