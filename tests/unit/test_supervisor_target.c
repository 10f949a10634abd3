/* SPDX-License-Identifier: MIT */
/* Tests the host:port that a guest's connections are led to: reached, refused, and looked up by
 * name with a getent of the test. It runs on the virtual clock. */
#include "test_base.h"

#include <arpa/inet.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "supervisor/live/target.h"

#define BEGUN (1000 * NS_PER_S)
#define DEADLINE (BEGUN + 60 * NS_PER_S)

struct stage {
	struct scratch *scratch;
	struct loop *loop;
	struct target *target;
	int listener;
	uint16_t port; /* of the listener, on 127.0.0.1 */
	char *path;    /* PATH as it was */
};

/* One attempt, and how it ended. */
struct attempt {
	struct target_attempt *going;
	int calls, fd;
	struct error why;
};

static int stage_make(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	struct stage *stage = calloc(1, sizeof(*stage));
	void *scratch = NULL;

	clock_set_virtual(BEGUN);
	if (scratch_make(&scratch) < 0)
		return -1;
	stage->scratch = scratch;
	stage->path = strdup(getenv("PATH"));
	stage->loop = loop_new(NULL);
	stage->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(stage->listener, (struct sockaddr *)&address, len) < 0 ||
	    listen(stage->listener, 8) < 0 ||
	    getsockname(stage->listener, (struct sockaddr *)&address, &len) < 0)
		return -1;
	stage->port = ntohs(address.sin_port);
	*state = stage;
	return stage->loop ? 0 : -1;
}

static int stage_drop(void **state)
{
	struct stage *stage = *state;
	void *scratch = stage->scratch;

	target_free(stage->target);
	target_free(NULL);
	loop_free(stage->loop);
	if (stage->listener >= 0)
		close(stage->listener);
	setenv("PATH", stage->path, 1);
	free(stage->path);
	free(stage);
	return scratch_remove(&scratch);
}

/* Makes a getent that notes each of its calls and does this. */
static void put_getent(const struct stage *stage, const char *does)
{
	char file[128], path[256];
	FILE *script;

	snprintf(file, sizeof(file), "%s/getent", stage->scratch->path);
	script = fopen(file, "we");
	assert_non_null(script);
	fprintf(script, "#!/bin/sh\necho \"$*\" >>%s/calls\n%s\n", stage->scratch->path, does);
	fclose(script);
	assert_int_equal(chmod(file, 0700), 0);
	snprintf(path, sizeof(path), "%s:%s", stage->scratch->path, stage->path);
	setenv("PATH", path, 1);
}

static void assert_getent_calls(const struct stage *stage, const char *lines)
{
	autobuf struct buf text = BUF_INIT(4096);
	struct error err = {0};

	assert_ok(path_read_file_at(stage->scratch->fd, "calls", &text, &err));
	assert_string_equal(buf_string(&text), lines);
}

static void aim(struct stage *stage, const char *host)
{
	struct error err = {0};
	char text[64];

	snprintf(text, sizeof(text), "%s:%u", host, stage->port);
	target_free(stage->target);
	stage->target = target_new(stage->loop, text, &err);
	assert_non_null(stage->target);
	assert_string_equal(target_text(stage->target), text);
}

static void on_reached(void *data, int fd, const struct error *why)
{
	struct attempt *attempt = data;

	attempt->calls++;
	attempt->fd = fd;
	attempt->going = NULL;
	if (why)
		attempt->why = *why;
	else
		close(fd);
}

static void reach(struct stage *stage, struct attempt *attempt)
{
	struct error err = {0};

	*attempt = (struct attempt){.fd = -1};
	attempt->going = target_reach(stage->target, DEADLINE, on_reached, attempt, &err);
	assert_non_null(attempt->going);
	assert_int_equal(attempt->calls, 0); /* never from within the call */
}

/* Under the virtual clock a round does not wait. So this waits until the process or the kernel has
 * done its part. */
static void until_over(struct stage *stage, const struct attempt *attempt)
{
	struct error err = {0};

	while (!attempt->calls) {
		assert_ok(loop_once(stage->loop, 0, &err));
		sched_yield();
	}
	assert_int_equal(attempt->calls, 1);
}

static void assert_reached(const struct attempt *attempt)
{
	if (attempt->fd < 0)
		fail_msg("%s", attempt->why.msg);
}

static void an_address(void **state)
{
	struct stage *stage = *state;
	struct attempt attempt;

	put_getent(stage, "echo 192.0.2.1 STREAM never asked");
	aim(stage, "127.0.0.1");
	reach(stage, &attempt);
	until_over(stage, &attempt);
	assert_reached(&attempt);
	assert_int_equal(faccessat(stage->scratch->fd, "calls", F_OK, 0), -1);
}

static void nobody_listens(void **state)
{
	struct stage *stage = *state;
	struct attempt attempt;
	char prefix[40];

	close(stage->listener);
	stage->listener = -1;
	aim(stage, "127.0.0.1");
	reach(stage, &attempt);
	until_over(stage, &attempt);
	assert_int_equal(attempt.fd, -1);
	snprintf(prefix, sizeof(prefix), "127.0.0.1:%u: ", stage->port);
	assert_memory_equal(attempt.why.msg, prefix, strlen(prefix));
	assert_non_null(strstr(attempt.why.msg, "refused"));
}

static void what_is_no_target(void **state)
{
	static const char *const texts[] = {"", "host", ":1", "host:", "host:0", "host:65536"};
	struct stage *stage = *state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct error err = {0};

		assert_null(target_new(stage->loop, texts[i], &err));
		assert_code(err, ERR_INVALID);
		assert_non_null(strstr(err.msg, "HOST:PORT"));
	}
}

/* There is one look-up for all that wait, and for LIMIT_RESOLVED_MS. */
static void a_name_is_looked_up_once(void **state)
{
	uint64_t kept = limit_get(LIMIT_RESOLVED_MS) * NS_PER_MS;
	struct stage *stage = *state;
	struct attempt first, second;

	put_getent(stage, "echo '127.0.0.1       STREAM mediator'; echo '127.0.0.1       DGRAM'; "
			  "echo junk STREAM");
	aim(stage, "mediator");
	reach(stage, &first);
	reach(stage, &second);
	until_over(stage, &first);
	until_over(stage, &second);
	assert_reached(&first);
	assert_reached(&second);
	clock_set_virtual(BEGUN + kept - 1);
	reach(stage, &first);
	until_over(stage, &first);
	assert_reached(&first);
	assert_getent_calls(stage, "ahosts -- mediator\n");
	clock_set_virtual(BEGUN + kept);
	reach(stage, &first);
	until_over(stage, &first);
	assert_getent_calls(stage, "ahosts -- mediator\nahosts -- mediator\n");
}

static void a_name_that_nobody_knows(void **state)
{
	struct stage *stage = *state;
	struct attempt attempt;

	put_getent(stage, "exit 2");
	aim(stage, "nowhere");
	for (int i = 0; i < 2; i++) { /* a failure is not kept */
		reach(stage, &attempt);
		until_over(stage, &attempt);
		assert_int_equal(attempt.fd, -1);
		assert_code(attempt.why, ERR_NOT_FOUND);
		assert_non_null(strstr(attempt.why.msg, ": the name has no address"));
	}
	assert_getent_calls(stage, "ahosts -- nowhere\nahosts -- nowhere\n");
}

static void a_look_up_that_takes_too_long(void **state)
{
	uint64_t late = limit_get(LIMIT_RESOLVE_MS) * NS_PER_MS;
	struct stage *stage = *state;
	struct attempt attempt;
	struct error err = {0};

	/* A pipe that nobody opens for writing, so no other program is needed, and none must be
	 * ended. */
	assert_int_equal(mkfifoat(stage->scratch->fd, "never", 0600), 0);
	put_getent(stage, "read word <\"${0%/*}/never\"");
	aim(stage, "slow");
	reach(stage, &attempt);
	clock_set_virtual(BEGUN + late - 1);
	assert_ok(loop_once(stage->loop, 0, &err));
	if (attempt.calls)
		fail_msg("before its time: %s", attempt.why.msg);
	clock_set_virtual(BEGUN + late);
	until_over(stage, &attempt);
	assert_code(attempt.why, ERR_TIMEOUT);
	assert_non_null(strstr(
		attempt.why.msg,
		"the name was not looked up in time: look at the name servers of this host"));
}

/* A caller that gives up takes nothing from the others that wait for the same answer. */
static void one_gives_up(void **state)
{
	struct stage *stage = *state;
	struct attempt attempts[3];

	put_getent(stage, "echo 127.0.0.1 STREAM");
	for (size_t gone = 0; gone < ARRAY_SIZE(attempts); gone++) {
		aim(stage, "mediator");
		for (size_t i = 0; i < ARRAY_SIZE(attempts); i++)
			reach(stage, &attempts[i]);
		target_give_up(attempts[gone].going);
		for (size_t i = 0; i < ARRAY_SIZE(attempts); i++) {
			if (i == gone)
				continue;
			until_over(stage, &attempts[i]);
			assert_reached(&attempts[i]);
		}
		assert_int_equal(attempts[gone].calls, 0);
	}
	target_give_up(NULL);
}

#define stage_test(fn) cmocka_unit_test_setup_teardown(fn, stage_make, stage_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		stage_test(an_address),
		stage_test(nobody_listens),
		stage_test(what_is_no_target),
		stage_test(a_name_is_looked_up_once),
		stage_test(a_name_that_nobody_knows),
		stage_test(a_look_up_that_takes_too_long),
		stage_test(one_gives_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
