/* SPDX-License-Identifier: MIT */
/* Tests the agent of macOS guests: envelopes, buffered frames, and the control stream. */
#include "guest_macos_fixture.h"

#include "base/limits.h"

static void exec_of_an_envelope(void **state)
{
	struct macos *m = *state;
	json_t *answer;

	say_text(m, "{\"op\":\"exec\",\"payload\":{\"command\":[\"sh\",\"-c\",\"echo $GREETING; "
		    "pwd; echo no >&2; "
		    "exit 7\"],\"env\":{\"GREETING\":\"hello\"},\"cwd\":\"/usr\"}}\n");
	answer = hear_line(m);
	number_is(answer, "exit_code", 7);
	text_is(answer, "stdout", "hello\n/usr\n");
	text_is(answer, "stderr", "no\n");
	assert_int_equal(json_object_size(answer), 3);
	json_decref(answer);
}

/* A command runs as the user of the test, or as nobody if the test runs as root. The command has a
 * new POSIX session, the umask 0022, and /dev/null as its stdin. */
static void who_a_command_is(void **state)
{
	struct macos *m = *state;
	char wanted[256];
	json_t *answer;

	say_text(m, "{\"op\":\"exec\",\"payload\":{\"command\":[\"sh\",\"-c\",\"id -un; echo $USER "
		    "$LOGNAME; "
		    "umask; ps -o sid= -p $$ | tr -d ' ' | sed s/^$$$/session/; readlink "
		    "/proc/self/fd/0\"]}}");
	answer = hear_line(m);
	snprintf(wanted, sizeof(wanted), "%s\n%s %s\n0022\nsession\n/dev/null\n", test_user(),
		 test_user(), test_user());
	text_is(answer, "stdout", wanted);
	json_decref(answer);
}

static void commands_that_cannot_be_run(void **state)
{
	static const struct {
		const char *payload;
		int code;
		const char *why;
	} rows[] = {
		{"{\"command\":[\"no-such-program\"]}", 127, "no-such-program: No such file"},
		{"{\"command\":[\"/etc/passwd\"]}", 126, "/etc/passwd: Permission denied"},
		{"{\"command\":[\"true\"],\"cwd\":\"/no/such\"}", 125, "/no/such: No such file"},
		{"{\"command\":[\"true\"],\"user\":\"no-such-user\"}", 125, "no such user"},
		{"{\"command\":[]}", 125, "command must name a program"},
		{"{\"command\":\"true\"}", 125, "command"},
		{"{}", 125, "command is required"},
		{"{\"command\":[\"true\"],\"env\":{\"a=b\":\"c\"}}", 125, "is not a variable"},
		{"{\"command\":[\"true\"],\"timeout_sec\":-1}", 125, "timeout_sec"},
		{"{\"command\":[\"true\"],\"rlimits\":{\"nofile\":{\"soft\":1}}}", 125, "rlimits"},
	};
	struct macos *m = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char text[512];
		json_t *answer;

		snprintf(text, sizeof(text), "{\"op\":\"exec\",\"payload\":%s}\n", rows[i].payload);
		say_text(m, text);
		answer = hear_line(m);
		number_is(answer, "exit_code", rows[i].code);
		assert_non_null(strstr(json_text(answer, "start_error", ""), rows[i].why));
		text_is(answer, "stderr", json_text(answer, "start_error", ""));
		json_decref(answer);
	}
}

static void envelopes_are_answered_in_their_order(void **state)
{
	struct macos *m = *state;

	for (int i = 0; i < 3; i++) {
		char text[256];

		snprintf(text, sizeof(text),
			 "{\"op\":\"exec\",\"payload\":{\"command\":[\"sh\",\"-c\",\"sleep 0.%d; "
			 "printf "
			 "'%%s' '}{%d'\"]}}",
			 2 - i, i);
		say_text(m, text);
	}
	shutdown(m->fd, SHUT_WR);
	for (int i = 0; i < 3; i++) {
		json_t *answer = hear_line(m);
		char wanted[8];

		snprintf(wanted, sizeof(wanted), "}{%d", i);
		text_is(answer, "stdout", wanted);
		json_decref(answer);
	}
	hear_end(m);
}

static void bytes_that_are_no_text(void **state)
{
	struct macos *m = *state;
	json_t *answer;

	say_text(m, "{\"op\":\"exec\",\"payload\":{\"command\":[\"printf\",\"a\\\\377b\"]}}\n");
	answer = hear_line(m);
	text_is(answer, "stdout",
		"a\xef\xbf\xbd"
		"b");
	text_is(answer, "stdout_base64", "Yf9i");
	json_decref(answer);
}

/* At the timeout of a command, all processes of its process group are killed, also those in the
 * background. */
static void a_timeout_kills_the_whole_group(void **state)
{
	struct macos *m = *state;
	char path[128], text[512];
	int fifo = make_fifo(m, path);
	json_t *answer;

	snprintf(text, sizeof(text),
		 "{\"op\":\"exec\",\"payload\":{\"timeout_sec\":1,\"command\":[\"sh\",\"-c\","
		 "\"exec 3>%s; echo up >&3; "
		 "sleep 1000 & echo before; sleep 1000\"]}}\n",
		 path);
	say_text(m, text);
	await_holder(fifo);
	answer = hear_line(m);
	number_is(answer, "exit_code", 124);
	assert_true(json_is_true(json_object_get(answer, "timed_out")));
	text_is(answer, "stdout", "before\n");
	json_decref(answer);
	await_gone(fifo);
}

/* A process that the command has started in the background still runs after the command's end. The
 * agent does not wait for this process. */
static void a_child_in_the_background(void **state)
{
	struct macos *m = *state;
	json_t *answer;
	pid_t left;

	say_text(m, "{\"op\":\"exec\",\"payload\":{\"command\":[\"sh\",\"-c\",\"sleep 1000 & echo "
		    "$!\"]}}\n");
	answer = hear_line(m);
	number_is(answer, "exit_code", 0);
	left = atoi(json_text(answer, "stdout", "0"));
	assert_true(left > 1);
	assert_int_equal(kill(left, SIGKILL), 0);
	json_decref(answer);
}

static json_t *copy_out(struct macos *m, const char *path)
{
	char text[256];

	snprintf(text, sizeof(text), "{\"op\":\"copyout\",\"payload\":{\"guest_path\":\"%s\"}}\n",
		 path);
	say_text(m, text);
	return hear_line(m);
}

static void files_are_copied_out(void **state)
{
	static const char *const wrong[][2] = {{"/no/such", "No such file"},
					       {"/usr", "not a regular file"},
					       {"relative", "must be absolute"},
					       {"/etc/shadow", "Permission denied"}};
	struct macos *m = *state;
	char path[128];
	json_t *answer;
	FILE *file;

	snprintf(path, sizeof(path), "%s/file", m->dir);
	file = fopen(path, "w");
	fputs("hello world", file);
	fclose(file);
	answer = copy_out(m, path);
	text_is(answer, "data", "aGVsbG8gd29ybGQ=");
	text_is(answer, "error", "");
	json_decref(answer);
	assert_int_equal(truncate(path, 0), 0);
	answer = copy_out(m, path);
	text_is(answer, "data", "");
	text_is(answer, "error", "");
	json_decref(answer);
	assert_int_equal(truncate(path, (16 << 20) + 1), 0);
	answer = copy_out(m, path);
	text_is(answer, "data", "");
	assert_non_null(strstr(json_text(answer, "error", ""), "too large"));
	json_decref(answer);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		answer = copy_out(m, wrong[i][0]);
		text_is(answer, "data", "");
		assert_non_null(strstr(json_text(answer, "error", ""), wrong[i][1]));
		json_decref(answer);
	}
}

static void what_is_no_envelope(void **state)
{
	struct macos *m = *state;
	json_t *answer;

	say_text(m, "{\"op\":\"list\",\"payload\":{}}\n");
	answer = hear_line(m);
	text_is(answer, "error", "unknown op: list");
	json_decref(answer);
	say_text(m, "{\"op\":7}\n");
	answer = hear_line(m);
	assert_non_null(strstr(json_text(answer, "error", ""), "decode envelope: "));
	json_decref(answer);
	hear_end(m);
}

static void an_envelope_that_ends_in_the_middle(void **state)
{
	struct macos *m = *state;
	json_t *answer;

	say_text(m, " {\"op\":\"exec\"");
	shutdown(m->fd, SHUT_WR);
	answer = hear_line(m);
	assert_non_null(strstr(json_text(answer, "error", ""), "decode envelope: "));
	json_decref(answer);
	hear_end(m);
}

static int start_impatient(void **state)
{
	limit_set(LIMIT_AGENT_IDLE_MS, 100);
	return macos_start(state);
}

static int stop_impatient(void **state)
{
	limit_set(LIMIT_AGENT_IDLE_MS, 10000);
	return macos_stop(state);
}

static void a_client_that_asks_nothing(void **state)
{
	hear_end(*state);
}

/* A command may run longer than the limit for idle connections. After the answer the agent waits
 * for another request until this limit has passed, and then closes the connection. */
static void a_client_that_asks_nothing_more(void **state)
{
	struct macos *m = *state;
	json_t *answer;

	say_text(m, "{\"op\":\"exec\",\"payload\":{\"command\":[\"sleep\",\"0.5\"]}}\n");
	answer = hear_line(m);
	number_is(answer, "exit_code", 0);
	json_decref(answer);
	hear_end(m);
}

/* --- frames ---------------------------------------------------------------------------------- */

static void a_buffered_frame(void **state)
{
	struct macos *m = *state;
	json_t *answer;

	say_json(m->fd, json_pack("{s:s, s:[s,s,s], s:{s:s}, s:s, s:i, s:s}", "id", "uuid-string",
				  "cmd", "sh", "-c", "cat; echo $X; echo e >&2; kill -9 $$", "env",
				  "X", "y", "cwd", "/", "timeoutSeconds", 300, "stdin", "AP8="));
	answer = hear_json(m, m->fd);
	text_is(answer, "id", "uuid-string");
	text_is(answer, "stdout", "AP95Cg==");
	text_is(answer, "stderr", "ZQo=");
	number_is(answer, "exitCode", 137);
	number_is(answer, "signal", 9);
	assert_true(json_is_false(json_object_get(answer, "killed")));
	assert_true(json_is_integer(json_object_get(answer, "elapsedMs")));
	json_decref(answer);
	hear_end(m); /* all requests are answered */
}

static void frames_run_at_the_same_time(void **state)
{
	struct macos *m = *state;
	json_t *answer;

	say_json(m->fd, json_pack("{s:s, s:[s,s], s:i}", "id", "slow", "cmd", "sleep", "1000",
				  "timeoutSeconds", 1));
	say_json(m->fd, json_pack("{s:s, s:[s]}", "id", "fast", "cmd", "true"));
	answer = hear_json(m, m->fd);
	text_is(answer, "id", "fast");
	json_decref(answer);
	answer = hear_json(m, m->fd);
	text_is(answer, "id", "slow");
	number_is(answer, "exitCode", 124);
	assert_true(json_is_true(json_object_get(answer, "killed")));
	assert_true(json_is_true(json_object_get(answer, "timedOut")));
	json_decref(answer);
	hear_end(m);
}

static void output_is_cut_off(void **state)
{
	struct macos *m = *state;
	json_t *answer;

	say_json(m->fd,
		 json_pack("{s:s, s:[s,s,s]}", "id", "a", "cmd", "head", "-c9000000", "/dev/zero"));
	answer = hear_json(m, m->fd);
	number_is(answer, "exitCode", 0);
	assert_true(json_is_true(json_object_get(answer, "stdoutTruncated")));
	assert_int_equal(strlen(json_text(answer, "stdout", "")), (8 << 20) / 3 * 4 + 4);
	json_decref(answer);
}

/* --- the control stream ---------------------------------------------------------------------- */

static void the_control_stream(void **state)
{
	struct macos *m = *state;
	char path[160], text[256] = "";
	json_t *answer = hear_json(m, m->control);
	FILE *file;

	text_is(answer, "type", "hello");
	number_is(answer, "format", 1);
	text_is(answer, "bootId", "boot");
	json_decref(answer);
	say_json(m->control,
		 json_pack("{s:s, s:i, s:s, s:[{s:s, s:s, s:s}], s:[], s:I}", "type", "config",
			   "format", 1, "hostname", "w", "shares", "tag", "work", "mountpoint",
			   m->dir, "mode", "ro", "disks", "realtimeNs", (json_int_t)1));
	answer = hear_json(m, m->control);
	text_is(answer, "type", "ready");
	json_decref(answer);
	say_json(m->control, json_pack("{s:s}", "type", "time"));
	say_json(m->control, json_pack("{s:s}", "type", "of a newer host"));
	say_json(m->control, json_pack("{s:s, s:s}", "type", "power", "action", "off"));
	answer = hear_json(m, m->control);
	text_is(answer, "type", "ending");
	json_decref(answer);
	snprintf(path, sizeof(path), "%s/did", m->dir);
	for (int i = 0; i < 600 && !strstr(text, "poweroff\n"); i++) {
		struct pollfd none = {.fd = -1};

		poll(&none, 1, 100);
		file = fopen(path, "r");
		text[file ? fread(text, 1, sizeof(text) - 1, file) : 0] = '\0';
		if (file)
			fclose(file);
	}
	snprintf(path, sizeof(path), "mount -t virtiofs -o ro work %s\npoweroff\n", m->dir);
	assert_string_equal(text, path);
}

static void a_config_that_asks_for_more(void **state)
{
	static const char *const wrong[] = {
		"{\"type\":\"config\",\"format\":1,\"command\":[\"true\"]}",
		"{\"type\":\"config\",\"format\":1,\"disks\":[{\"serial\":\"disk-0\"}]}",
		"{\"type\":\"config\",\"format\":1,\"publishes\":[{\"guestPort\":80}]}",
		"{\"type\":\"config\",\"format\":2}",
		"{\"type\":\"config\",\"format\":1,\"shares\":[{}]}",
		"{\"type\":7}",
		"{",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct macos *m = *state;
		json_t *hello = hear_json(m, m->control);

		json_decref(hello);
		say_frame(m->control, wrong[i], strlen(wrong[i]));
		assert_false(hear_more(m, m->control)); /* closed instead of ready */
		say_text(m, "{\"op\":\"exec\",\"payload\":{\"command\":[\"true\"]}}\n");
		json_decref(hear_line(m)); /* the agent still runs without the control stream */
		assert_int_equal(macos_stop(state), 0);
		assert_int_equal(macos_start(state), 0);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, macos_start, macos_stop)
	const struct CMUnitTest tests[] = {
		TEST(exec_of_an_envelope),
		TEST(who_a_command_is),
		TEST(commands_that_cannot_be_run),
		TEST(envelopes_are_answered_in_their_order),
		TEST(bytes_that_are_no_text),
		TEST(a_timeout_kills_the_whole_group),
		TEST(a_child_in_the_background),
		TEST(files_are_copied_out),
		TEST(what_is_no_envelope),
		TEST(an_envelope_that_ends_in_the_middle),
		cmocka_unit_test_setup_teardown(a_client_that_asks_nothing, start_impatient,
						stop_impatient),
		cmocka_unit_test_setup_teardown(a_client_that_asks_nothing_more, start_impatient,
						stop_impatient),
		TEST(a_buffered_frame),
		TEST(frames_run_at_the_same_time),
		TEST(output_is_cut_off),
		TEST(the_control_stream),
		TEST(a_config_that_asks_for_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
