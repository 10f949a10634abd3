/* SPDX-License-Identifier: MIT */
/* Tests workspaces: their directories, documents and events, also if something is wrong with
 * them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/limits.h"
#include "contract/response.h"
#include "store_keeper.h"

#include <sys/file.h>

static void opening(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	struct workspace ws;
	struct stat st;

	assert_int_equal(workspace_open(&f->dir, "new", false, &ws, &err), 0);
	assert_int_equal(ws.fd, -1);
	assert_string_equal(ws.id, "new");
	workspace_close(&ws);
	assert_int_equal(access(at(f, "new"), F_OK), -1);
	assert_int_equal(workspace_open(&f->dir, "new", true, &ws, &err), 0);
	assert_int_equal(fstat(ws.fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	workspace_close(&ws);
	workspace_close(&ws);
	assert_int_equal(workspace_open(&f->dir, "new", true, &ws, &err), 0); /* again, empty */
	workspace_close(&ws);
}

static void assert_open_fails(const struct fixture *f, const char *id, bool create,
			      enum error_code code, const char *words)
{
	struct workspace ws = {.fd = -7};
	struct error err = {0};

	assert_int_equal(workspace_open(&f->dir, id, create, &ws, &err), -1);
	if (err.code != code || !strstr(err.msg, words))
		fail_msg("\"%s\": %s: %s", id, error_code_name(err.code), err.msg);
	assert_int_equal(ws.fd, -7);
}

static void strange_names(void **state)
{
	static const char *const names[] = {"", ".", "..", "a/b", "/a", "a\\b", "a\nb", "../state"};
	const struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_open_fails(f, names[i], true, ERR_INVALID, "must be a plain name");
}

static void strange_directories(void **state)
{
	const struct fixture *f = *state;

	assert_int_equal(symlink("agent-1", at(f, "link")), 0);
	assert_open_fails(f, "link", false, ERR_IO, "link");
	assert_open_fails(f, "link", true, ERR_IO, "link");
	put_file(f, "file", "x");
	assert_open_fails(f, "file", true, ERR_IO, "file");
	assert_int_equal(mkdir(at(f, "open"), 0700), 0);
	assert_int_equal(chmod(at(f, "open"), 0770), 0);
	assert_open_fails(f, "open", false, ERR_DENIED, "can be written by other users");
}

/* The state directory may have folders of the user. */
static void a_foreign_directory_is_left_alone(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	struct workspace ws;

	assert_int_equal(mkdir(at(f, "src"), 0700), 0);
	put_file(f, "src/main.c", "x");
	assert_open_fails(f, "src", true, ERR_CONFLICT, "directory that microagent did not make");
	assert_int_equal(workspace_open(&f->dir, "src", false, &ws, &err), 0);
	assert_int_equal(workspace_remove(&ws, &err), -1);
	assert_int_equal(err.code, ERR_CONFLICT);
	workspace_close(&ws);
	assert_int_equal(access(at(f, "src/main.c"), F_OK), 0);
}

/* A disk is cloned into the new directory before anything is recorded. */
static void an_unfinished_workspace_is_one(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	struct workspace ws;

	assert_int_equal(mkdir(at(f, "half"), 0700), 0);
	put_file(f, "half/rootfs.ext4", "x");
	assert_int_equal(workspace_open(&f->dir, "half", true, &ws, &err), 0);
	assert_int_equal(workspace_remove(&ws, &err), 0);
	assert_int_equal(ws.fd, -1);
	workspace_close(&ws);
	assert_int_equal(access(at(f, "half"), F_OK), -1);
}

static void removing(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	put_file(f, "agent-1/event.json", "{}");
	put_file(f, "outside", "x");
	assert_int_equal(mkdir(at(f, "agent-1/snapshots"), 0700), 0);
	put_file(f, "agent-1/snapshots/deep", "x");
	assert_int_equal(symlink("../outside", at(f, "agent-1/link")), 0);
	assert_int_equal(workspace_remove(&f->ws, &err), 0);
	assert_int_equal(f->ws.fd, -1);
	assert_int_equal(access(at(f, "agent-1"), F_OK), -1);
	assert_int_equal(access(at(f, "outside"), F_OK), 0);
	assert_int_equal(workspace_remove(&f->ws, &err), 0); /* a missing one is success */
}

static size_t told;

static void tell(const char *id, const struct error *why, void *data)
{
	assert_null(why);
	assert_string_equal(id, data);
	told++;
}

/* It has lost its name, and is removed with the next removal of that name or by the next sweep. */
static void a_removal_that_was_killed(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	put_file(f, "agent-1/event.json", "{}");
	assert_int_equal(mkdir(at(f, ".locks"), 0700), 0);
	assert_int_equal(mkdir(at(f, ".locks/.gone"), 0700), 0);
	assert_int_equal(mkdir(at(f, ".locks/.gone/agent-1"), 0700), 0);
	put_file(f, ".locks/.gone/agent-1/rootfs.ext4", "x");
	assert_true(trash_has(&f->dir, "agent-1"));
	assert_int_equal(workspace_remove(&f->ws, &err), 0);
	assert_int_equal(access(at(f, "agent-1"), F_OK), -1);
	assert_int_equal(access(at(f, ".locks/.gone"), F_OK), -1);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(mkdir(at(f, ".locks/.gone"), 0700), 0);
		assert_int_equal(mkdir(at(f, ".locks/.gone/agent-1"), 0700), 0);
		if (again)
			trash_sweep(&f->dir, tell, "agent-1");
		else
			assert_int_equal(workspace_remove(&f->ws, &err), 0);
		assert_int_equal(access(at(f, ".locks/.gone"), F_OK), -1);
	}
	assert_int_equal(told, 1);
	trash_sweep(&f->dir, tell, "nothing");
	assert_int_equal(told, 1);
}

/* A process that removes it just now has a lock on it. */
static void a_removal_that_goes_on(void **state)
{
	const struct fixture *f = *state;

	assert_int_equal(mkdir(at(f, ".locks"), 0700), 0);
	assert_int_equal(mkdir(at(f, ".locks/.gone"), 0700), 0);
	assert_int_equal(mkdir(at(f, ".locks/.gone/agent-1"), 0700), 0);
	autoclose int held = open(at(f, ".locks/.gone/agent-1"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(held, LOCK_EX), 0);
	trash_sweep(&f->dir, tell, "nothing");
	limit_set(LIMIT_COMMAND_LOCK_MS, 1);
	assert_int_equal(trash_finish(&f->dir, "agent-1", NULL), 0);
	limit_reset(LIMIT_COMMAND_LOCK_MS);
	assert_true(trash_has(&f->dir, "agent-1"));
}

/* A process that is killed while it removes a workspace holds the lock for a moment longer. */
static void a_removal_that_is_killed_meanwhile(void **state)
{
	const struct fixture *f = *state;
	pthread_t other;

	assert_int_equal(mkdir(at(f, ".locks"), 0700), 0);
	assert_int_equal(mkdir(at(f, ".locks/.gone"), 0700), 0);
	assert_int_equal(mkdir(at(f, ".locks/.gone/agent-1"), 0700), 0);
	autoclose int held = open(at(f, ".locks/.gone/agent-1"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(flock(held, LOCK_EX), 0);
	struct child child = keeper(at(f, ".locks/.gone/agent-1"));
	close(steal_fd(&held));
	assert_int_equal(pthread_create(&other, NULL, end_when_waited_for, &child), 0);
	assert_int_equal(trash_finish(&f->dir, "agent-1", NULL), 0);
	assert_int_equal(pthread_join(other, NULL), 0);
	assert_false(trash_has(&f->dir, "agent-1"));
}

static void a_removal_without_a_place_for_it(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	put_file(f, "agent-1/event.json", "{}");
	assert_int_equal(symlink("nowhere", at(f, ".locks")), 0);
	assert_int_equal(trash_remove(&f->dir, "agent-1", &err), 0);
	assert_int_equal(access(at(f, "agent-1"), F_OK), -1);
	assert_int_equal(access(at(f, "nowhere"), F_OK), -1);
}

static void a_lock_of_what_was_removed(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};
	autoclose int lock = workspace_lock_opened(&f->ws, 0, &err);

	assert_true(lock >= 0);
	assert_int_equal(access(at(f, ".locks/agent-1"), F_OK), 0);
	close(steal_fd(&lock));
	assert_int_equal(rmdir(at(f, "agent-1")), 0);
	assert_int_equal(workspace_lock_opened(&f->ws, 0, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
	assert_int_equal(access(at(f, ".locks/agent-1"), F_OK), -1);
}

static void removing_a_file(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};

	put_file(f, "agent-1/vsock.sock", "x");
	assert_int_equal(workspace_remove_file(&f->ws, "vsock.sock", &err), 0);
	assert_int_equal(access(at(f, "agent-1/vsock.sock"), F_OK), -1);
	assert_int_equal(workspace_remove_file(&f->ws, "vsock.sock", &err), 0);
	assert_int_equal(mkdir(at(f, "agent-1/dir"), 0700), 0);
	assert_int_equal(workspace_remove_file(&f->ws, "dir", &err), -1);
	assert_non_null(strstr(err.msg, at(f, "agent-1/dir")));
}

static void paths(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};
	autofree char *file = workspace_path(&f->ws, "serial.log", &err);
	autofree char *own = workspace_path(&f->ws, NULL, &err);

	assert_string_equal(file, at(f, "agent-1/serial.log"));
	assert_string_equal(own, at(f, "agent-1"));
}

/* --- state and events ------------------------------------------------------------------------ */

static json_t *make_event(enum state at_state, const char *detail)
{
	json_auto_t *identity = json_pack("{s:s}", "runtimeID", "agent-1");

	return event_json(identity, at_state, detail, "2026-05-02T00:00:00.000Z");
}

static void record(const struct fixture *f, enum state at_state, const char *detail)
{
	json_auto_t *event = make_event(at_state, detail);
	struct error err = {0};

	if (workspace_record_event(&f->ws, event, &err) < 0)
		fail_msg("%s", err.msg);
}

static void assert_state(const struct fixture *f, enum state expected)
{
	enum state found = STATE_COUNT;
	json_t *event = NULL;
	struct error err = {0};

	if (workspace_state(&f->ws, &found, &event, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(found, expected);
	if (expected == STATE_UNKNOWN)
		assert_null(event);
	else
		assert_string_equal(json_string_value(json_object_get(event, "state")),
				    state_names[expected]);
	json_decref(event);
}

static void every_state_is_recorded(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};

	assert_state(f, STATE_UNKNOWN);
	for (unsigned s = STATE_PREPARED; s < STATE_COUNT; s++) {
		record(f, (enum state)s, NULL);
		assert_state(f, (enum state)s);
	}
	json_auto_t *events = workspace_read(&f->ws, "events.json", &err);
	assert_int_equal(json_array_size(events), STATE_COUNT - 1);
	for (unsigned s = STATE_PREPARED; s < STATE_COUNT; s++)
		assert_string_equal(
			json_string_value(json_object_get(json_array_get(events, s - 1), "state")),
			state_names[s]);
}

static void state_of_an_absent_workspace(void **state)
{
	const struct fixture *f = *state;
	enum state found = STATE_COUNT;
	struct error err = {0};
	struct workspace ws;

	assert_int_equal(workspace_open(&f->dir, "none", false, &ws, &err), 0);
	assert_int_equal(workspace_state(&ws, &found, NULL, &err), 0);
	assert_int_equal(found, STATE_UNKNOWN);
	workspace_close(&ws);
}

static void old_events_are_dropped(void **state)
{
	const struct fixture *f = *state;
	size_t keep = limit_get(LIMIT_EVENTS_KEPT);
	json_auto_t *many = json_array();
	struct error err = {0};

	for (size_t i = 0; i < keep + 5; i++) {
		char detail[24];

		snprintf(detail, sizeof(detail), "%zu", i);
		json_array_append_new(many, make_event(STATE_RUNNING, detail));
	}
	assert_int_equal(workspace_write(&f->ws, "events.json", many, STORE_NO_SYNC, &err), 0);
	record(f, STATE_STOPPED, "last");
	json_auto_t *events = workspace_read(&f->ws, "events.json", &err);
	assert_int_equal(json_array_size(events), keep);
	assert_string_equal(json_string_value(json_object_get(json_array_get(events, 0), "detail")),
			    "6");
	assert_string_equal(
		json_string_value(json_object_get(json_array_get(events, keep - 1), "detail")),
		"last");
}

static void damaged_events_are_kept(void **state)
{
	const struct fixture *f = *state;
	json_auto_t *event = make_event(STATE_STOPPED, NULL);
	struct error err = {0};

	record(f, STATE_PREPARED, NULL);
	put_file(f, "agent-1/events.json", "[{\"broken\"");
	assert_int_equal(workspace_record_event(&f->ws, event, &err), -1);
	assert_int_equal(err.code, ERR_IO);
	assert_non_null(strstr(err.msg, at(f, "agent-1/events.json")));
	autofree char *text = get_file(f, "agent-1/events.json");
	assert_string_equal(text, "[{\"broken\"");
	assert_state(f, STATE_PREPARED);
}

static void damaged_states(void **state)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		"x",
		"{\"identity\":{},\"observedAt\":\"t\"}",
		"{\"identity\":{},\"observedAt\":\"t\",\"state\":\"paused\"}",
		"{\"identity\":{},\"observedAt\":\"t\",\"state\":7}",
		"{\"identity\":[],\"observedAt\":\"t\",\"state\":\"running\"}",
		"{\"identity\":{},\"state\":\"running\"}"};
	const struct fixture *f = *state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		enum state found = STATE_COUNT;
		json_t *event = NULL;
		struct error err = {0};

		put_file(f, "agent-1/event.json", texts[i]);
		assert_int_equal(workspace_state(&f->ws, &found, &event, &err), -1);
		assert_int_equal(err.code, ERR_IO);
		assert_non_null(strstr(err.msg, at(f, "agent-1/event.json")));
		assert_int_equal(found, STATE_COUNT);
		assert_null(event);
	}
}

/* A limit on the size of files stands for a full disk: the write stops at the same place. */
static void a_full_disk_keeps_the_old_state(void **state)
{
	const struct fixture *f = *state;
	autofree char *before = NULL, *after = NULL;
	json_auto_t *event = make_event(STATE_RUNNING, "no room for this");
	struct rlimit old, none;
	struct error err = {0};
	int result;

	record(f, STATE_PREPARED, NULL);
	before = get_file(f, "agent-1/events.json");
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	none = old;
	none.rlim_cur = 16;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	result = workspace_record_event(&f->ws, event, &err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(result, -1);
	assert_non_null(strstr(err.msg, at(f, "agent-1/events.json")));
	after = get_file(f, "agent-1/events.json");
	assert_string_equal(before, after);
	assert_state(f, STATE_PREPARED);
	/* No temporary file is left. */
	assert_int_equal(workspace_remove_file(&f->ws, "event.json", &err), 0);
	assert_int_equal(workspace_remove_file(&f->ws, "events.json", &err), 0);
	assert_int_equal(rmdir(at(f, "agent-1")), 0);
}

/* A live supervisor that was taken over can do this: nobody ever opens its other end. */
static void a_pipe_in_the_place_of_a_file(void **state)
{
	const struct fixture *f = *state;
	struct error err = {0};

	assert_int_equal(mkfifoat(f->ws.fd, "audit.log", 0600), 0);
	alarm(60); /* instead of a test that hangs */
	assert_int_equal(workspace_sync(&f->ws, "audit.log", &err), -1);
	alarm(0);
	assert_non_null(strstr(err.msg, "agent-1/audit.log"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(opening),
		store_test(strange_names),
		store_test(strange_directories),
		store_test(a_foreign_directory_is_left_alone),
		store_test(an_unfinished_workspace_is_one),
		store_test(removing),
		store_test(a_removal_that_was_killed),
		store_test(a_removal_that_goes_on),
		store_test(a_removal_that_is_killed_meanwhile),
		store_test(a_removal_without_a_place_for_it),
		store_test(a_lock_of_what_was_removed),
		store_test(removing_a_file),
		store_test(a_pipe_in_the_place_of_a_file),
		store_test(paths),
		store_test(every_state_is_recorded),
		store_test(state_of_an_absent_workspace),
		store_test(old_events_are_dropped),
		store_test(damaged_events_are_kept),
		store_test(damaged_states),
		store_test(a_full_disk_keeps_the_old_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
