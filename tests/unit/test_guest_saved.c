/* SPDX-License-Identifier: MIT */
/* Tests the agent of a machine that is saved, and comes back as another one. */
#include "guest_client.h"

#include "base/limits.h"

#define CONFIG "{\"type\":\"config\",\"format\":1"
/* 64 bytes, the first of which is not 0. */
#define ENTROPY                                                      \
	"\"entropy\":\"AQIDBAUGBwgJCgsMDQ4PEAECAwQFBgcICQoLDA0ODxAB" \
	"AgMEBQYHCAkKCwwNDg8QAQIDBAUGBwgJCgsMDQ4PEA==\""
#define NO_ENTROPY                                                   \
	"\"entropy\":\"AAIDBAUGBwgJCgsMDQ4PEAECAwQFBgcICQoLDA0ODxAB" \
	"AgMEBQYHCAkKCwwNDg8QAQIDBAUGBwgJCgsMDQ4PEA==\""
#define BOOT_ID "01234567-89ab-4def-8123-456789abcdef"
#define MACHINE_ID "0123456789abcdef0123456789abcdef"
#define OTHER_MACHINE_ID "f123456789abcdef0123456789abcdef"
#define IDS(machine) ",\"bootId\":\"" BOOT_ID "\",\"machineId\":\"" machine "\""
#define TIME "{\"type\":\"time\",\"realtimeNs\":6}"
#define RENEW ",\"renew\":{" ENTROPY IDS(MACHINE_ID) "}"

static json_t *expect(const struct fixture *f, const char *type)
{
	json_t *message = read_message(f->control);

	assert_string_equal(json_string_value(json_object_get(message, "type")), type);
	return message;
}

static void expect_ready(struct fixture *f, const char *rest)
{
	autofree char *text = NULL;

	assert_true(asprintf(&text, CONFIG "%s}", rest) > 0);
	send_message(f->control, text);
	json_decref(expect(f, "ready"));
}

static int start(void **state)
{
	struct fixture *f = malloc(sizeof(*f));

	*f = fixture_start(true, true);
	json_decref(expect(f, "hello"));
	*state = f;
	return 0;
}

/* The host's end of the control stream, which the agent takes for another host's. */
static void come_back(struct fixture *f)
{
	close(f->control);
	f->control = through_door(f, DOOR_CONTROL);
}

static void expect_restored(struct fixture *f)
{
	json_auto_t *hello = expect(f, "hello");

	assert_true(json_is_true(json_object_get(hello, "restored")));
}

static void expect_renewal(struct fixture *f)
{
	expect_machine(f, "renew " BOOT_ID);
	expect_machine(f, "renew " MACHINE_ID);
}

static void expect_refusal(struct fixture *f)
{
	char more;

	assert_int_equal(read(f->control, &more, 1), 0);
}

static char *ask_env(const struct fixture *f)
{
	return ask_envelope(f, "{\"op\":\"exec\",\"payload\":{\"command\":[\"sh\",\"-c\",\"echo "
			       "$A$B\"]}}\n");
}

static void expect_env(const struct fixture *f, const char *text)
{
	autofree char *answer = ask_env(f);

	assert_non_null(strstr(answer, text));
}

/* --- getting ready --------------------------------------------------------------------------- */

static void a_quiet_template_may_be_saved(void **state)
{
	struct fixture *f = *state;
	autoclose int idle = -1;
	json_auto_t *quiesced = NULL;
	char more;

	expect_ready(f, ",\"template\":true");
	idle = dial(f);
	send_message(f->control, "{\"type\":\"quiesce\"}");
	expect_machine(f, "quiesce files");
	quiesced = expect(f, "quiesced");
	assert_null(json_object_get(quiesced, "error"));
	assert_int_equal(read(idle, &more, 1), 0); /* nobody is left who would wait */
	send_message(f->control, TIME);
	expect_env(f, "exit_code");
}

/* Before it is killed; no template is needed for that. */
static void whoever_is_to_be_killed_tells_the_rest(void **state)
{
	struct fixture *f = *state;

	expect_ready(f, "");
	send_message(f->control, "{\"type\":\"settle\"}");
	json_decref(expect(f, "settled"));
	expect_env(f, "exit_code");
}

static void expect_unquiet(const struct fixture *f, const char *why)
{
	json_auto_t *quiesced = NULL;

	send_message(f->control, "{\"type\":\"quiesce\"}");
	quiesced = expect(f, "quiesced");
	assert_string_equal(json_string_value(json_object_get(quiesced, "error")), why);
}

static void a_command_stands_in_the_way(void **state)
{
	struct fixture *f = *state;
	autoclose int fd = -1;
	struct streamed s = {0};

	expect_ready(f, ",\"template\":true");
	fd = dial(f);
	send_message(fd, "{\"id\":\"e\",\"request\":1,\"stream\":true,\"stdin\":true,"
			 "\"cmd\":[\"sh\",\"-c\",\"echo up; cat\"]}");
	while (s.out[0].len == 0)
		assert_false(take_streamed(fd, 1, &s));
	expect_unquiet(f, "a command is running");
	send_message(fd, "{\"event\":\"stdin-close\",\"request\":1}");
	while (!take_streamed(fd, 1, &s))
		;
	assert_int_equal(number_of(s.exit, "exitCode"), 0);
	streamed_free(&s);
}

/* Processes that a warm-up has started stay. */
static void a_child_in_the_background_does_not(void **state)
{
	struct fixture *f = *state;

	expect_ready(f, ",\"template\":true");
	free(ask_envelope(f, "{\"op\":\"exec\",\"payload\":{\"command\":[\"sh\",\"-c\","
			     "\"sleep 1000 & echo\"]}}\n"));
	send_message(f->control, "{\"type\":\"quiesce\"}");
	json_decref(expect(f, "quiesced"));
}

static void an_ordinary_machine_is_not_saved(void **state)
{
	struct fixture *f = *state;

	expect_ready(f, "");
	expect_unquiet(f, "this machine is not a template");
}

/* Ends the test if there are no cgroups, which are what can be frozen. */
static void need_cgroups(const struct fixture *f)
{
	if (f->cgroup[0])
		return;
	print_message("skipped: there is no cgroup v2 that this test may write to\n");
	skip();
}

/* Waits until the kernel reports the line about the processes of the agent's commands. A process
 * needs a moment to stand still, to go on, or to die. */
static void expect_frozen(const struct fixture *f, const char *line)
{
	char path[128], text[128] = "";
	struct pollfd changed = {.events = POLLPRI};

	snprintf(path, sizeof(path), "%s/microagent/cgroup.events", f->cgroup);
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	changed.fd = fd;
	while (pread(fd, text, sizeof(text) - 1, 0) > 0 && !strstr(text, line))
		assert_int_equal(poll(&changed, 1, 10000), 1);
	assert_non_null(strstr(text, line));
}

/* Begins a command that echoes its stdin, and returns its connection. */
static int begin_cat(const struct fixture *f, struct streamed *s)
{
	int fd = dial(f);

	send_message(fd, "{\"id\":\"e\",\"request\":1,\"stream\":true,\"stdin\":true,"
			 "\"cmd\":[\"sh\",\"-c\",\"echo up; cat\"]}");
	while (s->out[0].len == 0)
		assert_false(take_streamed(fd, 1, s));
	json_decref(expect(f, "exec-started"));
	return fd;
}

static void expect_saved_while_it_runs(const struct fixture *f)
{
	send_message(f->control, "{\"type\":\"quiesce\",\"goesOn\":true}");
	json_decref(expect(f, "quiesced"));
	expect_frozen(f, "frozen 1");
}

/* A command that is begun meanwhile stands still too, and the agent does not wait for it. */
static void commands_stand_still_until_the_save_is_over(void **state)
{
	struct fixture *f = *state;
	autoclose int cat = -1, late = -1;
	struct streamed s = {0};
	autofree char *answer = NULL;

	need_cgroups(f);
	expect_ready(f, ",\"audit\":true");
	cat = begin_cat(f, &s);
	expect_saved_while_it_runs(f);
	late = dial(f);
	send_text(late, "{\"op\":\"exec\",\"payload\":{\"command\":[\"echo\",\"late\"]}}\n");
	shutdown(late, SHUT_WR);
	json_decref(expect(f, "exec-started"));
	send_message(f->control, "{\"type\":\"settle\"}");
	json_decref(expect(f, "settled"));
	expect_frozen(f, "frozen 1");
	send_message(f->control, TIME);
	answer = read_all(late);
	assert_non_null(strstr(answer, "late"));
	json_decref(expect(f, "exec-finished"));
	expect_frozen(f, "frozen 0");
	send_message(cat, "{\"event\":\"stdin-close\",\"request\":1}");
	while (!take_streamed(cat, 1, &s))
		;
	assert_int_equal(number_of(s.exit, "exitCode"), 0);
	streamed_free(&s);
}

/* Otherwise they would draw the random numbers that siblings draw. */
static void commands_go_on_when_the_machine_is_renewed(void **state)
{
	struct fixture *f = *state;
	autoclose int cat = -1;
	struct streamed s = {0};

	need_cgroups(f);
	expect_ready(f, ",\"audit\":true");
	free(ask_envelope(f, "{\"op\":\"exec\",\"payload\":{\"command\":[\"sh\",\"-c\","
			     "\"sleep 1000 & echo\"]}}\n"));
	json_decref(expect(f, "exec-started"));
	json_decref(expect(f, "exec-finished"));
	cat = begin_cat(f, &s);
	expect_saved_while_it_runs(f);
	come_back(f);
	expect_restored(f);
	expect_frozen(f, "frozen 1");
	expect_ready(f, RENEW);
	expect_frozen(f, "frozen 0");
	streamed_free(&s);
}

/* A quarantine has cut the way to the host, for example. */
static void commands_go_on_although_no_host_says_so(void **state)
{
	struct fixture *f = *state;
	autoclose int cat = -1;
	struct streamed s = {0};

	need_cgroups(f);
	expect_ready(f, ",\"audit\":true");
	cat = begin_cat(f, &s);
	expect_saved_while_it_runs(f);
	send_message(cat, "{\"event\":\"stdin-close\",\"request\":1}");
	while (!take_streamed(cat, 1, &s))
		;
	assert_int_equal(number_of(s.exit, "exitCode"), 0);
	streamed_free(&s);
}

static int start_with_a_short_rest(void **state)
{
	limit_set(LIMIT_REST_MS, 2000);
	int status = start(state);
	limit_set(LIMIT_REST_MS, 180000);
	return status;
}

static void commands_of_a_machine_that_ends_go_on(void **state)
{
	struct fixture *f = *state;
	autoclose int cat = -1;
	struct streamed s = {0};

	need_cgroups(f);
	expect_ready(f, ",\"audit\":true");
	cat = begin_cat(f, &s);
	expect_saved_while_it_runs(f);
	send_message(f->control, "{\"type\":\"power\",\"action\":\"off\"}");
	json_decref(expect(f, "ending"));
	expect_frozen(f, "frozen 0");
	streamed_free(&s);
}

static int64_t traced(const struct fixture *f)
{
	json_auto_t *message = expect(f, "telemetry");

	return number_of(json_array_get(json_object_get(message, "records"), 0), "n");
}

/* Everything that was seen is reported before, and nothing of it afterwards. */
static void the_tracer_goes_on(void **state)
{
	struct fixture *f = *state;

	expect_ready(f, ",\"template\":true,\"telemetry\":true");
	json_decref(expect(f, "telemetry-status"));
	assert_int_equal(traced(f), 1);
	send_message(f->control, "{\"type\":\"quiesce\"}");
	assert_int_equal(traced(f), 3);
	json_decref(expect(f, "quiesced"));
	come_back(f);
	expect_restored(f);
	expect_ready(f, ",\"telemetry\":true" RENEW);
	json_decref(expect(f, "telemetry-status"));
	send_message(f->control, "{\"type\":\"power\",\"action\":\"off\"}");
	json_decref(expect(f, "ending"));
	assert_int_equal(traced(f), 2);
}

static void the_tracer_may_not_be_wanted_any_more(void **state)
{
	struct fixture *f = *state;

	expect_ready(f, ",\"template\":true,\"telemetry\":true");
	json_decref(expect(f, "telemetry-status"));
	assert_int_equal(traced(f), 1);
	come_back(f);
	expect_restored(f);
	expect_ready(f, RENEW);
	send_message(f->control, "{\"type\":\"power\",\"action\":\"off\"}");
	json_decref(expect(f, "ending"));
}

/* --- coming back ----------------------------------------------------------------------------- */

static void another_config_makes_another_machine(void **state)
{
	struct fixture *f = *state;

	expect_ready(f, ",\"template\":true,\"hostname\":\"one\",\"env\":{\"A\":\"a\"}");
	expect_machine(f, "hostname one");
	expect_env(f, "\"a\\n\"");
	come_back(f);
	expect_restored(f);
	expect_ready(f, ",\"hostname\":\"two\",\"env\":{\"B\":\"b\"},\"realtimeNs\":5" RENEW);
	expect_machine(f, "time 5 exactly");
	expect_renewal(f);
	expect_machine(f, "hostname two");
	expect_env(f, "\"b\\n\"");
	send_message(f->control, "{\"type\":\"time\",\"realtimeNs\":6}");
	expect_machine(f, "time 6");
}

/* The rest of it before ready, in a process of its own. */
static void a_part_of_the_renewal_may_take_longer(void **state)
{
	struct fixture *f = *state;

	expect_ready(f, ",\"template\":true");
	come_back(f);
	expect_restored(f);
	expect_ready(f, ",\"renew\":{" ENTROPY IDS(OTHER_MACHINE_ID) "}");
	expect_machine(f, "renew " BOOT_ID);
	expect_machine(f, "renew " OTHER_MACHINE_ID);
	expect_machine(f, "renew more");
}

/* In a fork's child: the client that waited for it belongs to the parent. */
static void commands_of_clients_end(void **state)
{
	struct fixture *f = *state;
	autoclose int fd = -1;
	struct streamed s = {0};
	json_auto_t *started = NULL, *other = NULL;

	expect_ready(f, ",\"template\":true,\"audit\":true");
	fd = dial(f);
	send_message(fd, "{\"id\":\"e\",\"request\":1,\"stream\":true,\"stdin\":true,"
			 "\"cmd\":[\"sh\",\"-c\",\"echo up; cat\"]}");
	while (s.out[0].len == 0)
		assert_false(take_streamed(fd, 1, &s));
	json_decref(expect(f, "exec-started"));
	come_back(f);
	expect_restored(f);
	assert_null(read_frame(fd, &(size_t){0}));
	streamed_free(&s);
	expect_ready(f, ",\"audit\":true" RENEW);
	expect_env(f, "exit_code");
	started = expect(f, "exec-started");
	other = expect(f, "exec-finished"); /* of the second alone */
	assert_int_equal(number_of(started, "exec"), 2);
	assert_int_equal(number_of(other, "exec"), 2);
}

static void the_next_generation(void **state)
{
	struct fixture *f = *state;

	expect_ready(f, ",\"template\":true");
	for (int i = 0; i < 2; i++) {
		come_back(f);
		expect_restored(f);
		expect_ready(f, i == 0 ? ",\"template\":true" RENEW : RENEW);
		expect_renewal(f);
	}
	come_back(f);
	expect_refusal(f);
}

static void an_ordinary_machine_has_one_host(void **state)
{
	struct fixture *f = *state;

	expect_ready(f, "");
	come_back(f);
	expect_refusal(f);
}

static void a_second_config_of_one_boot(void **state)
{
	struct fixture *f = *state;

	expect_ready(f, ",\"template\":true");
	send_message(f->control, CONFIG RENEW "}");
	expect_refusal(f);
}

static void renewals_that_are_none(void **state)
{
	static const char *const rest[] = {
		"",
		",\"renew\":{}",
		",\"renew\":{\"entropy\":\"AQID\"" IDS(MACHINE_ID) "}",
		",\"renew\":{" ENTROPY IDS("0123") "}",
		",\"renew\":{" ENTROPY IDS("../../../../../../../../etc/pass") "}",
		",\"renew\":{" NO_ENTROPY IDS(MACHINE_ID) "}", /* the kernel takes none */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rest); i++) {
		struct fixture f = fixture_start(true, false);
		autofree char *text = NULL;

		json_decref(expect(&f, "hello"));
		expect_ready(&f, ",\"template\":true");
		come_back(&f);
		expect_restored(&f);
		assert_true(asprintf(&text, CONFIG "%s}", rest[i]) > 0);
		send_message(f.control, text);
		expect_refusal(&f);
		fixture_end(&f);
	}
}

#define saved_test(fn) cmocka_unit_test_setup_teardown(fn, start, guest_end)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		saved_test(a_quiet_template_may_be_saved),
		saved_test(whoever_is_to_be_killed_tells_the_rest),
		saved_test(a_command_stands_in_the_way),
		saved_test(a_child_in_the_background_does_not),
		saved_test(an_ordinary_machine_is_not_saved),
		saved_test(commands_stand_still_until_the_save_is_over),
		saved_test(commands_go_on_when_the_machine_is_renewed),
		cmocka_unit_test_setup_teardown(commands_go_on_although_no_host_says_so,
						start_with_a_short_rest, guest_end),
		saved_test(commands_of_a_machine_that_ends_go_on),
		saved_test(the_tracer_goes_on),
		saved_test(the_tracer_may_not_be_wanted_any_more),
		saved_test(another_config_makes_another_machine),
		saved_test(a_part_of_the_renewal_may_take_longer),
		saved_test(commands_of_clients_end),
		saved_test(the_next_generation),
		saved_test(an_ordinary_machine_has_one_host),
		saved_test(a_second_config_of_one_boot),
		cmocka_unit_test(renewals_that_are_none),
	};
	int code;

	if (fixture_role(argc, argv, &code))
		return code;
	return cmocka_run_group_tests_name("guest saved", tests, NULL, NULL);
}
