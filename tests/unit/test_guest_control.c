/* SPDX-License-Identifier: MIT */
/* Tests the control stream: hello, config, ready, result, time, power; the workload and its
 * client. */
#include <signal.h>

#include "guest_client.h"

#include "base/base64.h"
#include "base/buf.h"
#include "base/limits.h"

static int start(void **state)
{
	struct fixture *f = malloc(sizeof(*f));
	json_auto_t *hello = NULL;

	*f = fixture_start(true, true);
	hello = read_message(f->control);
	assert_string_equal(json_string_value(json_object_get(hello, "type")), "hello");
	assert_int_equal(strlen(json_string_value(json_object_get(hello, "bootId"))), 36);
	*state = f;
	return 0;
}

static json_t *expect(const struct fixture *f, const char *type)
{
	json_t *message = read_message(f->control);

	assert_string_equal(json_string_value(json_object_get(message, "type")), type);
	return message;
}

static void configure(const struct fixture *f, const char *rest)
{
	autofree char *text = NULL;
	json_auto_t *ready = NULL;

	assert_true(asprintf(&text,
			     "{\"type\":\"config\",\"format\":1,\"hostname\":\"h\",\"disks\":[],"
			     "\"resultStreamBytes\":1000%s}",
			     rest) > 0);
	send_message(f->control, text);
	ready = expect(f, "ready");
	expect_machine(f, "hostname h");
}

static struct buf decoded(const json_t *result, const char *key)
{
	const char *text = json_string_value(json_object_get(result, key));
	struct buf bytes = {0};

	assert_non_null(text);
	assert_int_equal(base64_decode(text, strlen(text), &bytes, NULL), 0);
	return bytes;
}

static void workload_runs_by_itself(void **state)
{
	struct fixture *f = *state;
	json_auto_t *result = NULL;
	struct buf out, err;

	configure(f, ",\"attach\":false,\"env\":{\"A\":\"b\"},\"cwd\":\"/usr\","
		     "\"command\":[\"sh\",\"-c\",\"pwd; echo $A; echo e >&2; exit 3\"]");
	result = expect(f, "result");
	assert_int_equal(number_of(result, "exitCode"), 3);
	out = decoded(result, "stdout");
	err = decoded(result, "stderr");
	assert_string_equal(buf_string(&out), "/usr\nb\n");
	assert_string_equal(buf_string(&err), "e\n");
	assert_null(json_object_get(result, "stdoutTruncated"));
	assert_null(json_object_get(result, "startError"));
	assert_true(strcmp(json_string_value(json_object_get(result, "startedAt")),
			   json_string_value(json_object_get(result, "completedAt"))) <= 0);
	buf_free(&out);
	buf_free(&err);
}

static void result_keeps_the_first_bytes(void **state)
{
	struct fixture *f = *state;
	json_auto_t *result = NULL;
	struct buf out;

	configure(f, ",\"command\":[\"head\",\"-c\",\"3000000\",\"/dev/zero\"]");
	result = expect(f, "result");
	out = decoded(result, "stdout");
	assert_int_equal(out.len, 1000);
	assert_true(json_is_true(json_object_get(result, "stdoutTruncated")));
	assert_null(json_object_get(result, "stderrTruncated"));
	buf_free(&out);
}

static void workload_that_never_runs(void **state)
{
	struct fixture *f = *state;
	json_auto_t *result = NULL;

	configure(f, ",\"command\":[\"no-such-program\"]");
	result = expect(f, "result");
	assert_int_equal(number_of(result, "exitCode"), 127);
	assert_string_equal(
		json_string_value(json_object_get(result, "startError")),
		"no-such-program: not found in PATH: install this program in the guest, or give its whole path");
}

static void workload_of_an_unknown_user(void **state)
{
	struct fixture *f = *state;
	json_auto_t *result = NULL;

	configure(f, ",\"user\":\"nobody-here\",\"command\":[\"true\"]");
	result = expect(f, "result");
	assert_int_equal(number_of(result, "exitCode"), 125);
	assert_non_null(json_object_get(result, "startError"));
}

static void workload_times_out(void **state)
{
	struct fixture *f = *state;
	json_auto_t *result = NULL;

	configure(f, ",\"timeoutSeconds\":1,\"command\":[\"sleep\",\"1000\"]");
	result = expect(f, "result");
	assert_int_equal(number_of(result, "exitCode"), 124);
	assert_true(json_is_true(json_object_get(result, "timedOut")));
}

/* The client gets everything, and the result gets the beginning, only when the client has
 * closed. */
static void attached_client(void **state)
{
	struct fixture *f = *state;
	autoclose int fd = -1;
	json_auto_t *result = NULL;
	struct streamed s;
	struct buf out;

	configure(f, ",\"attach\":true,\"command\":[\"sh\",\"-c\",\"cat; exit 9\"]");
	fd = dial(f);
	send_message(fd, "{\"event\":\"attach\",\"request\":1,\"exec\":\"workload\"}");
	for (int i = 0; i < 500; i++)
		send_stdin(fd, 1, "0123456789", 10);
	send_message(fd, "{\"event\":\"stdin-close\",\"request\":1}");
	s = read_streamed(fd, 1);
	assert_int_equal(s.out[0].len, 5000);
	assert_int_equal(number_of(s.exit, "exitCode"), 9);
	streamed_free(&s);
	/* Nothing is on the control stream before this. */
	assert_int_equal(recv(f->control, &out, 1, MSG_PEEK | MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	close(fd);
	fd = -1;
	result = expect(f, "result");
	out = decoded(result, "stdout");
	assert_int_equal(out.len, 1000);
	assert_int_equal(number_of(result, "exitCode"), 9);
	buf_free(&out);
}

/* The workload goes on without its client and fills no memory. */
static void client_goes_away(void **state)
{
	struct fixture *f = *state;
	json_auto_t *result = NULL, *started = NULL;
	int fd;

	configure(f, ",\"attach\":true,\"command\":[\"sh\",\"-c\",\"cat; head -c 5000000 "
		     "/dev/zero; exit 4\"]");
	fd = dial(f);
	send_message(fd, "{\"event\":\"attach\",\"request\":1,\"exec\":\"workload\"}");
	started = read_message(fd);
	close(fd);
	result = expect(f, "result");
	assert_int_equal(number_of(result, "exitCode"), 4);
	assert_true(json_is_true(json_object_get(result, "stdoutTruncated")));
}

static void second_client(void **state)
{
	struct fixture *f = *state;
	autoclose int first = -1, second = -1;
	json_auto_t *started = NULL, *refused = NULL;

	configure(f, ",\"attach\":true,\"command\":[\"cat\"]");
	first = dial(f);
	send_message(first, "{\"event\":\"attach\",\"request\":1,\"exec\":\"workload\"}");
	started = read_message(first);
	second = dial(f);
	send_message(second, "{\"event\":\"attach\",\"request\":1,\"exec\":\"workload\"}");
	refused = read_message(second);
	assert_string_equal(
		json_string_value(json_object_get(refused, "error")),
		"another client is already attached to the command that this machine's config starts: detach that client first");
}

static void workload_that_cannot_start_under_a_client(void **state)
{
	struct fixture *f = *state;
	autoclose int fd = -1;
	json_auto_t *result = NULL;
	struct streamed s;

	configure(f, ",\"attach\":true,\"command\":[\"no-such-program\"]");
	fd = dial(f);
	send_message(fd, "{\"event\":\"attach\",\"request\":1,\"exec\":\"workload\"}");
	s = read_streamed(fd, 1);
	assert_int_equal(number_of(s.exit, "exitCode"), 127);
	streamed_free(&s);
	close(fd);
	fd = -1;
	result = expect(f, "result");
	assert_int_equal(number_of(result, "exitCode"), 127);
}

/* Every command has the environment of the config. */
static void exec_beside_the_workload(void **state)
{
	struct fixture *f = *state;
	autoclose int fd = -1;
	struct streamed s;

	configure(f, ",\"env\":{\"A\":\"from config\"}");
	fd = dial(f);
	send_message(fd, "{\"id\":\"e\",\"request\":1,\"stream\":true,\"cmd\":[\"sh\",\"-c\","
			 "\"echo $A $B\"],\"env\":{\"B\":\"from request\"}}");
	s = read_streamed(fd, 1);
	assert_string_equal(buf_string(&s.out[0]), "from config from request\n");
	streamed_free(&s);
}

static void disks_before_ready(void **state)
{
	struct fixture *f = *state;
	json_auto_t *ready = NULL;

	send_message(f->control, "{\"type\":\"config\",\"format\":1,\"disks\":[{\"serial\":\"d\","
				 "\"mountpoint\":\"/data\",\"mode\":\"ro\"}]}");
	expect_machine(f, "mount /data");
	ready = expect(f, "ready");
}

static void a_share_that_comes_later(void **state)
{
	struct fixture *f = *state;
	json_auto_t *ready = NULL;
	json_auto_t *mounted = NULL;
	json_auto_t *refused = NULL;

	send_message(f->control, "{\"type\":\"config\",\"format\":1}");
	ready = expect(f, "ready");
	send_message(f->control, "{\"type\":\"mount\",\"format\":1,\"shares\":[],\"disks\":[{"
				 "\"serial\":\"d\",\"mountpoint\":\"/data\"}]}");
	expect_machine(f, "mount /data");
	mounted = expect(f, "mounted");
	assert_null(json_object_get(mounted, "error"));
	send_message(f->control,
		     "{\"type\":\"mount\",\"format\":1,\"disks\":[{\"serial\":\"broken\","
		     "\"mountpoint\":\"/d\"}]}");
	refused = expect(f, "mounted");
	assert_non_null(json_object_get(refused, "error"));
}

/* The kernel of this machine reports no changes, so it is looked at now and then. */
static void servers_of_published_ports_are_told(void **state)
{
	struct fixture *f = *state;
	json_auto_t *first = NULL, *later = NULL, *ready = NULL;
	const json_t *ports;

	send_message(f->control, "{\"type\":\"config\",\"format\":1,\"publishes\":["
				 "{\"guestPort\":80},{\"guestPort\":90},{\"guestPort\":0}]}");
	first = expect(f, "listening");
	ports = json_object_get(first, "ports");
	assert_int_equal(json_array_size(ports), 1);
	assert_int_equal(json_integer_value(json_array_get(ports, 0)), 80);
	ready = expect(f, "ready");
	later = expect(f, "listening");
	assert_null(json_object_get(later, "ports"));
}

static void broken_configs(void **state)
{
	static const char *const configs[] = {
		"{\"type\":\"config\"}",
		"{\"type\":\"config\",\"format\":2}",
		"{\"type\":\"config\",\"format\":1,\"command\":[]}",
		"{\"type\":\"config\",\"format\":1,\"env\":{\"A\":1}}",
		"{\"type\":\"config\",\"format\":1,\"disks\":[{\"serial\":\"broken\","
		"\"mountpoint\":\"/d\"}]}",
		"nonsense",
		"{\"type\":\"power\",\"action\":\"dance\"}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
		struct fixture f = fixture_start(true, false);
		json_auto_t *hello = read_message(f.control);
		char more;

		send_message(f.control, configs[i]);
		assert_int_equal(read(f.control, &more, 1), 0); /* no ready: the stream ends */
		fixture_end(&f);
	}
}

static void time_is_set(void **state)
{
	struct fixture *f = *state;

	send_message(f->control, "{\"type\":\"time\",\"realtimeNs\":1700000000000000000}");
	expect_machine(f, "time 1700000000000000000");
	send_message(f->control, "{\"type\":\"of a later host\"}");
	send_message(f->control, "{\"type\":\"time\",\"realtimeNs\":5}");
	expect_machine(f, "time 5");
}

/* With the stop, a command that ignores SIGTERM is killed, the client gets the exit, and the host
 * gets the result. */
static json_int_t traced(const struct fixture *f)
{
	json_auto_t *message = expect(f, "telemetry");

	return number_of(json_array_get(json_object_get(message, "records"), 0), "n");
}

static void what_is_traced_is_told(void **state)
{
	struct fixture *f = *state;
	json_auto_t *status = NULL, *result = NULL;

	configure(f, ",\"telemetry\":true,\"command\":[\"sleep\",\"1000\"]");
	status = expect(f, "telemetry-status");
	assert_true(json_is_false(json_object_get(status, "exec")));
	assert_int_equal(traced(f), 1);
	send_message(f->control, "{\"type\":\"power\",\"action\":\"off\"}");
	expect_machine(f, "power off");
	json_decref(expect(f, "ending"));
	result = expect(f, "result");
	assert_int_equal(traced(f), 2); /* after everything else */
}

/* An agent that reports two commands a second one by one. */
static int start_terse(void **state)
{
	int got;

	limit_set(LIMIT_AUDIT_EXECS, 2);
	got = start(state);
	limit_reset(LIMIT_AUDIT_EXECS);
	return got;
}

/* A command is reported or counted. No end is reported of a command that was counted. */
static void too_many_commands_are_counted(void **state)
{
	struct fixture *f = *state;
	int64_t begun = 0, ended = 0, lost = 0;

	configure(f, ",\"audit\":true");
	for (int i = 0; i < 7; i++)
		free(ask_envelope(f, "{\"op\":\"exec\",\"payload\":{\"command\":[\"true\"]}}\n"));
	while (begun + lost < 7 || ended < begun) {
		json_auto_t *message = read_message(f->control);
		const char *type = json_string_value(json_object_get(message, "type"));

		begun += strcmp(type, "exec-started") == 0;
		ended += strcmp(type, "exec-finished") == 0;
		if (strcmp(type, "exec-lost") == 0)
			lost += number_of(message, "lost");
	}
	assert_int_equal(begun + lost, 7);
	assert_int_equal(ended, begun);
}

static void power_off_ends_what_runs(void **state)
{
	struct fixture *f = *state;
	autoclose int fd = -1;
	json_auto_t *result = NULL;
	struct streamed s = {0};

	configure(f, ",\"attach\":true,\"command\":[\"sh\",\"-c\",\"trap '' TERM; echo up; "
		     "while :; do sleep 1; done\"]");
	fd = dial(f);
	send_message(fd, "{\"event\":\"attach\",\"request\":1,\"exec\":\"workload\"}");
	while (s.out[0].len == 0)
		assert_false(take_streamed(fd, 1, &s));
	send_message(f->control, "{\"type\":\"power\",\"action\":\"off\"}");
	expect_machine(f, "power off");
	while (!take_streamed(fd, 1, &s))
		;
	assert_int_equal(number_of(s.exit, "exitCode"), 137);
	streamed_free(&s);
	json_decref(expect(f, "ending"));
	result = expect(f, "result");
	assert_int_equal(number_of(result, "exitCode"), 137);
	/* The agent exits by itself, and the teardown waits for that. */
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(workload_runs_by_itself, start, guest_end),
		cmocka_unit_test_setup_teardown(result_keeps_the_first_bytes, start, guest_end),
		cmocka_unit_test_setup_teardown(workload_that_never_runs, start, guest_end),
		cmocka_unit_test_setup_teardown(workload_of_an_unknown_user, start, guest_end),
		cmocka_unit_test_setup_teardown(workload_times_out, start, guest_end),
		cmocka_unit_test_setup_teardown(attached_client, start, guest_end),
		cmocka_unit_test_setup_teardown(client_goes_away, start, guest_end),
		cmocka_unit_test_setup_teardown(second_client, start, guest_end),
		cmocka_unit_test_setup_teardown(workload_that_cannot_start_under_a_client, start,
						guest_end),
		cmocka_unit_test_setup_teardown(exec_beside_the_workload, start, guest_end),
		cmocka_unit_test_setup_teardown(disks_before_ready, start, guest_end),
		cmocka_unit_test_setup_teardown(a_share_that_comes_later, start, guest_end),
		cmocka_unit_test_setup_teardown(servers_of_published_ports_are_told, start,
						guest_end),
		cmocka_unit_test(broken_configs),
		cmocka_unit_test_setup_teardown(time_is_set, start, guest_end),
		cmocka_unit_test_setup_teardown(what_is_traced_is_told, start, guest_end),
		cmocka_unit_test_setup_teardown(too_many_commands_are_counted, start_terse,
						guest_end),
		cmocka_unit_test_setup_teardown(power_off_ends_what_runs, start, guest_end),
	};
	int code;

	if (fixture_role(argc, argv, &code))
		return code;
	return cmocka_run_group_tests_name("guest control", tests, NULL, NULL);
}
