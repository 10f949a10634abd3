/* SPDX-License-Identifier: MIT */
/* Tests sessions at the end of the server and of calls, with handles that only record what is done
 * to them. */
#include "test_base.h"

#include <pthread.h>
#include <semaphore.h>

#define microagent_open open_nothing
#define microagent_close close_nothing
#define microagent_session_name handle_name
#define microagent_session_destroy handle_destroy
#define microagent_session_close handle_close
#define microagent_session_fork handle_fork
#define microagent_session_stream handle_stream
#include "mcp/sessions.c"
#include "mcp/tool_run.c"
#include "mcp/tool_session.c"

#include "base/clock.h"

struct microagent_session {
	sem_t begun, may_end; /* of its destruction */
	int destroyed, closed;
	struct microagent_session *children; /* of a fork */
	struct microagent_cancel *cancel;    /* fired when it is made */
	struct mcp_server *server;	     /* which destroys it while a command ends */
};

struct microagent *open_nothing(const char *state_dir, struct error *err)
{
	static char nothing;

	(void)state_dir, (void)err;
	return (struct microagent *)&nothing;
}

void close_nothing(struct microagent *agent)
{
	(void)agent;
}

const char *handle_name(const struct microagent_session *session)
{
	(void)session;
	return "one";
}

int handle_destroy(struct microagent_session *session, struct error *err)
{
	(void)err;
	sem_post(&session->begun);
	sem_wait(&session->may_end);
	assert_int_equal(session->closed, 0);
	session->destroyed++;
	return 0;
}

void handle_close(struct microagent_session *session)
{
	session->closed++;
}

/* Called when its caller does not wait any more. */
int handle_fork(struct microagent_session *session, const struct microagent_fork_spec *spec,
		struct microagent_session **children, json_t **told, struct error *err)
{
	(void)err;
	if (session->cancel)
		microagent_cancel_fire(session->cancel);
	for (int64_t i = 0; i < spec->count; i++)
		children[i] = &session->children[i];
	*told = json_pack("{s:i}", "pauseMs", 1);
	return 0;
}

/* A long output, at whose end another call destroys the session. */
int handle_stream(struct microagent_session *session, const struct microagent_exec *exec,
		  enum microagent_pieces pieces, const struct microagent_callbacks *callbacks,
		  const struct microagent_run_limits *limits, struct microagent_result *result,
		  struct error *err)
{
	char text[4096];

	(void)exec, (void)pieces, (void)limits, (void)result, (void)err;
	memset(text, 'x', sizeof(text));
	callbacks->output(callbacks->data, MICROAGENT_STDOUT, text, sizeof(text));
	if (session->server) {
		struct mcp_sessions *sessions = &session->server->sessions;
		struct mcp_session *taken = mcp_session_take(sessions, "one", NULL);

		mcp_session_leave(sessions, taken);
		kept_drop(&session->server->kept, "one");
		mcp_session_give(sessions, taken);
	}
	return 0;
}

struct rig {
	struct mcp_options options;
	struct mcp_sessions sessions;
	struct microagent_session handle;
};

static void *end_all(void *data)
{
	struct rig *rig = data;

	assert_true(mcp_sessions_end(&rig->sessions, clock_mono_ns() + 20000 * NS_PER_MS));
	return NULL;
}

/* A call that destroys it may be late, and is not waited for for ever. */
static void a_call_destroys_it_at_the_end(void **state)
{
	struct rig rig = {.options.max_machines = 1};
	struct mcp_room room = {0};
	struct mcp_session *taken;
	pthread_t ending;

	(void)state;
	sem_init(&rig.handle.begun, 0, 0);
	sem_init(&rig.handle.may_end, 0, 0);
	assert_int_equal(mcp_sessions_init(&rig.sessions, &rig.options, NULL), 0);
	assert_int_equal(machines_reserve(&rig.sessions, &room, 1, NULL), 0);
	assert_int_equal(mcp_session_enter(&rig.sessions, &room, &rig.handle, NULL), 0);
	taken = mcp_session_take(&rig.sessions, "one", NULL);
	assert_non_null(taken);
	assert_int_equal(pthread_create(&ending, NULL, end_all, &rig), 0);
	sem_wait(&rig.handle.begun);
	mcp_session_leave(&rig.sessions, taken);
	mcp_session_give(&rig.sessions, taken);
	assert_int_equal(rig.handle.closed, 0);
	sem_post(&rig.handle.may_end);
	pthread_join(ending, NULL);
	assert_int_equal(rig.handle.destroyed, 1);
	assert_int_equal(rig.handle.closed, 1);
	mcp_sessions_free(&rig.sessions);
	assert_int_equal(rig.handle.closed, 1);
	sem_destroy(&rig.handle.begun);
	sem_destroy(&rig.handle.may_end);
}

static void fork_for(bool cancelled)
{
	enum { CHILDREN = 2 };
	struct microagent_session children[CHILDREN] = {{.closed = 0}};
	struct mcp_options options = {.max_machines = 1 + CHILDREN};
	struct mcp_server server = {.options = &options};
	json_auto_t *arguments = json_pack("{s:i}", "count", CHILDREN);
	struct mcp_call call = {
		.server = &server, .arguments = arguments, .cancel = microagent_cancel_new(NULL)};
	struct microagent_session parent = {.children = children,
					    .cancel = cancelled ? call.cancel : NULL};
	struct mcp_session entry = {.handle = &parent};
	struct mcp_answer answer = {.text = BUF_INIT(0)};
	struct error err = {0};
	int status;

	for (size_t i = 0; i < CHILDREN; i++) {
		sem_init(&children[i].begun, 0, 0);
		sem_init(&children[i].may_end, 0, 1);
	}
	assert_int_equal(mcp_sessions_init(&server.sessions, &options, NULL), 0);
	status = fork_session(&call, &entry, NULL, &answer, &err);
	assert_int_equal(status, cancelled ? -1 : 0);
	assert_int_equal(server.sessions.machines, cancelled ? 0 : CHILDREN);
	for (size_t i = 0; i < CHILDREN; i++) {
		assert_int_equal(children[i].destroyed, cancelled);
		assert_int_equal(children[i].closed, cancelled);
	}
	mcp_sessions_free(&server.sessions);
	mcp_answer_free(&answer);
	microagent_cancel_free(call.cancel);
}

static void a_fork_that_nobody_is_told_of(void **state)
{
	(void)state;
	fork_for(false);
	fork_for(true);
}

static void output_kept_by(bool destroyed)
{
	struct mcp_options options = {.max_machines = 1, .result_bytes = 1024};
	struct mcp_server server = {.options = &options};
	struct microagent_session handle = {.server = destroyed ? &server : NULL};
	json_auto_t *arguments = json_pack("{s:s, s:[s]}", "session", "one", "command", "yes");
	struct mcp_call call = {.server = &server, .arguments = arguments};
	struct mcp_answer answer = {.text = BUF_INIT(0)};
	json_t *list;

	assert_int_equal(mcp_sessions_init(&server.sessions, &options, NULL), 0);
	mcp_kept_init(&server.kept);
	assert_int_equal(machines_reserve(&server.sessions, &call.room, 1, NULL), 0);
	assert_int_equal(mcp_session_enter(&server.sessions, &call.room, &handle, NULL), 0);
	assert_int_equal(tool_exec(&call, &answer, NULL), 0);
	list = kept_list(&server.kept);
	assert_int_equal(json_array_size(list), !destroyed);
	json_decref(list);
	mcp_answer_free(&answer);
	mcp_kept_free(&server.kept);
	mcp_sessions_free(&server.sessions);
	assert_int_equal(handle.closed, 1);
}

static void output_of_one_that_has_gone(void **state)
{
	(void)state;
	output_kept_by(false);
	output_kept_by(true);
}

struct wanting {
	struct mcp_sessions *sessions;
	struct mcp_room room;
	int status;
	struct error err;
};

static void *want_machine(void *data)
{
	struct wanting *wanting = data;

	wanting->status = machines_reserve(wanting->sessions, &wanting->room, 1, &wanting->err);
	return NULL;
}

/* A new call waits for the room of a call that is cancelled, and not for another one's. A call that
 * is cancelled itself waits no longer. */
static void room_of_a_cancelled_call(void **state)
{
	struct mcp_options options = {.max_machines = 1};
	struct mcp_sessions sessions;
	struct mcp_room first = {0}, second = {0};
	struct wanting wanting[2] = {{.sessions = &sessions}, {.sessions = &sessions}};
	pthread_t threads[2];
	struct error err = {0};

	(void)state;
	assert_int_equal(mcp_sessions_init(&sessions, &options, NULL), 0);
	assert_int_equal(machines_reserve(&sessions, &first, 1, NULL), 0);
	assert_int_equal(machines_reserve(&sessions, &second, 1, &err), -1);
	assert_non_null(strstr(err.msg, "may have 1 machines at once, and already has 1"));
	machines_give_up(&sessions, &first);
	machines_give_up(&sessions, &first); /* cancelled twice, it is one place */
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, want_machine, &wanting[i]), 0);
	machines_give_up(&sessions, &wanting[0].room);
	pthread_join(threads[0], NULL);
	assert_int_equal(wanting[0].status, -1);
	assert_string_equal(wanting[0].err.msg, "cancelled");
	machines_release(&sessions, &first, 1);
	pthread_join(threads[1], NULL);
	assert_int_equal(wanting[1].status, 0);
	assert_int_equal(sessions.machines, 1);
	assert_int_equal(sessions.leaving, 0);
	assert_int_equal(machines_reserve(&sessions, &second, 1, &err), -1);
	mcp_sessions_free(&sessions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_call_destroys_it_at_the_end),
					   cmocka_unit_test(a_fork_that_nobody_is_told_of),
					   cmocka_unit_test(output_of_one_that_has_gone),
					   cmocka_unit_test(room_of_a_cancelled_call)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
