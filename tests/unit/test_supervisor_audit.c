/* SPDX-License-Identifier: MIT */
/* Tests the audit log of a live session: events that the guest causes take neither room nor rate
 * from other events. */
#include "store_fixture.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>

#include "base/limits.h"
#include "base/loop.h"
#include "supervisor/live/live_audit.h"

#define LOG "agent-1/" AUDIT_LOG

static char remark[256]; /* the last one */

/* Replaces the function of live_record.c. */
void live_remark(struct live *live, const char *text)
{
	(void)live;
	snprintf(remark, sizeof(remark), "%s", text);
}

static struct live begin(struct fixture *f)
{
	struct live live = {.log = {.fd = -1}, .ws = f->ws, .loop = loop_new(NULL)};

	put_file(f, "agent-1/session.json", "{}");
	clock_set_virtual(5 * NS_PER_S);
	limit_set(LIMIT_AUDIT_GUEST_LINES, 4);
	limit_set(LIMIT_AUDIT_NET_LINES, 3);
	assert_int_equal(live_audit_begin(&live, NULL), 0);
	return live;
}

static void end(struct live *live)
{
	static const enum limit changed[] = {LIMIT_AUDIT_GUEST_LINES, LIMIT_AUDIT_NET_LINES,
					     LIMIT_AUDIT_BYTES, LIMIT_AUDIT_WAITING};

	live_audit_free(live);
	loop_free(live->loop);
	for (size_t i = 0; i < ARRAY_SIZE(changed); i++)
		limit_reset(changed[i]);
}

static void guest_says(struct live *live, int times, const char *word)
{
	for (int i = 0; i < times; i++)
		live_audit_guest(live, AUDIT_INFO, "exec", "exec.started",
				 json_pack("{s:s, s:s}", "origin", "guest", "argv", word));
}

static void connects(struct live *live, int times)
{
	for (int i = 0; i < times; i++)
		live_audit_network(live, AUDIT_INFO, "net.connect", json_pack("{s:i}", "to", i));
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
		n++;
	return n;
}

static size_t count_lines(struct fixture *f, const char *event)
{
	autofree char *text = get_file(f, LOG);
	char key[64];

	snprintf(key, sizeof(key), "\"event\":\"%s\"", event);
	return count(text, key);
}

static bool log_says(struct fixture *f, const char *words)
{
	autofree char *text = get_file(f, LOG);

	return strstr(text, words) != NULL;
}

static void connections_have_a_rate_of_their_own(void **state)
{
	struct fixture *f = *state;
	struct live live = begin(f);

	guest_says(&live, 40000, "sh");
	connects(&live, 5);
	assert_int_equal(count_lines(f, "exec.started"), 4);
	assert_int_equal(count_lines(f, "net.connect"), 3);
	live_audit(&live, AUDIT_CRITICAL, "vmm", "vmm.crashed", NULL);
	assert_int_equal(count_lines(f, "vmm.crashed"), 1);
	end(&live);
	assert_true(log_says(
		f, "{\"lost\":39996,\"why\":\"the guest reported more in one second than"));
	assert_true(log_says(
		f, "{\"lost\":2,\"why\":\"there were more connections in one second than"));
}

/* The guest's messages get up to half of the file, connections up to a quarter, and the rest is
 * free. */
static void room_is_shared_out(void **state)
{
	struct fixture *f = *state;
	struct live live = begin(f);
	struct stat st;

	limit_set(LIMIT_AUDIT_BYTES, 40000);
	limit_set(LIMIT_AUDIT_GUEST_LINES, 100000);
	limit_set(LIMIT_AUDIT_NET_LINES, 100000);
	guest_says(&live, 10000, "\"subsystem\":\"network\"");
	assert_int_equal(stat(at(f, LOG), &st), 0);
	assert_in_range(st.st_size, 18000, 22000);
	connects(&live, 10000);
	assert_int_equal(stat(at(f, LOG), &st), 0);
	assert_in_range(st.st_size, 28000, 33000);
	assert_int_equal(count_lines(f, "audit.full"), 2);
	assert_true(log_says(f, "{\"of\":\"guest\",\"bytes\":1"));
	assert_true(log_says(f, "{\"of\":\"connections\",\"bytes\":"));
	for (int i = 0; i < 100; i++)
		live_audit(&live, AUDIT_CRITICAL, "vmm", "vmm.unexpected", NULL);
	assert_int_equal(count_lines(f, "vmm.unexpected"), 100);
	size_t execs = count_lines(f, "exec.started"), nets = count_lines(f, "net.connect");
	end(&live);
	autofree char *lost = NULL;
	assert_true(asprintf(&lost, "\"lost\":%zu,", 10000 - execs) > 0 && log_says(f, lost));
	free(steal_ptr(&lost));
	assert_true(asprintf(&lost, "\"lost\":%zu,", 10000 - nets) > 0 && log_says(f, lost));
}

/* A part that was full is full for the next machine too, and the others are not. */
static void a_restart_counts_what_is_there(void **state)
{
	struct fixture *f = *state;
	struct live live = begin(f);

	limit_set(LIMIT_AUDIT_BYTES, 40000);
	limit_set(LIMIT_AUDIT_GUEST_LINES, 100000);
	guest_says(&live, 1000, "sh");
	size_t execs = count_lines(f, "exec.started");
	end(&live);
	live = begin(f);
	limit_set(LIMIT_AUDIT_BYTES, 40000);
	guest_says(&live, 3, "sh");
	connects(&live, 3);
	assert_int_equal(count_lines(f, "exec.started"), execs);
	assert_int_equal(count_lines(f, "net.connect"), 3);
	end(&live);
}

/* On a disk without room the guest's messages wait in places of their own. */
static void room_to_wait_is_shared_out(void **state)
{
	struct fixture *f = *state;
	struct live live = begin(f);
	struct rlimit before, none;

	limit_set(LIMIT_AUDIT_WAITING, 8);
	limit_set(LIMIT_AUDIT_GUEST_LINES, 100);
	limit_set(LIMIT_AUDIT_NET_LINES, 100);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = before;
	none.rlim_cur = 1;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	guest_says(&live, 20, "sh");
	connects(&live, 20);
	live_audit(&live, AUDIT_CRITICAL, "vmm", "vmm.crashed", NULL);
	live_audit(&live, AUDIT_CRITICAL, "vmm", "vmm.crashed", NULL);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	end(&live);
	assert_int_equal(count_lines(f, "exec.started"), 4);
	assert_int_equal(count_lines(f, "net.connect"), 2);
	assert_int_equal(count_lines(f, "vmm.crashed"), 2);
	assert_true(log_says(f, "{\"lost\":34,\"why\":\"there was no room on the disk"));
}

/* Returns the text of the one day that exists. */
static char *security_log(struct fixture *f)
{
	autofree char *logs = strdup(at(f, "../logs"));
	autodir DIR *dir = opendir(logs);
	const struct dirent *entry;
	char name[96] = "";

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			snprintf(name, sizeof(name), "../logs/%.64s", entry->d_name);
	return get_file(f, name);
}

/* No file may grow beyond so many parts of the log. The security log, which is shorter, goes on. */
static struct rlimit limit_files(struct fixture *f, rlim_t parts)
{
	struct rlimit before, none;
	struct stat st;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(stat(at(f, LOG), &st), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = before;
	none.rlim_cur = (rlim_t)st.st_size / parts;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	return before;
}

static void say_at_length(struct live *live, int times)
{
	char word[1000] = "";

	memset(word, 'x', sizeof(word) - 1);
	guest_says(live, times, word);
}

/* An alarm is in the security log at once, and once without a digest, whatever happens to the log.
 * Lines that were never written are counted there. */
static void alarms_do_not_wait(void **state)
{
	struct fixture *f = *state;
	struct live live = begin(f);
	struct audit_heads heads = {0};
	struct rlimit before;

	limit_set(LIMIT_AUDIT_WAITING, 4);
	limit_set(LIMIT_AUDIT_GUEST_LINES, 21);
	say_at_length(&live, 20);
	before = limit_files(f, 1);
	live_audit(&live, AUDIT_WARNING, "guest", "guest.reset", NULL);
	for (int i = 0; i < 5; i++)
		live_audit(&live, AUDIT_CRITICAL, "vmm", "vmm.crashed", json_pack("{s:i}", "n", i));
	say_at_length(&live, 3);
	assert_int_equal(count_lines(f, "vmm.crashed"), 0);
	autofree char *security = security_log(f);
	assert_int_equal(count(security, "\"event\":\"vmm.crashed\""), 5);
	assert_non_null(strstr(security, "\"data\":{\"n\":4}}\n"));
	assert_null(strstr(security, "guest.reset"));
	live_audit_free(&live);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	free(steal_ptr(&security));
	security = security_log(f);
	assert_int_equal(count(security, "\"event\":\"vmm.crashed\""), 5);
	/* One warning, five alarms, and three events of the guest, two of which were above its
	 * rate. */
	assert_non_null(strstr(security, "\"data\":{\"lost\":9,\"why\":\"audit.log could not be "
					 "written to the end: audit.log: "));
	assert_int_equal(audit_heads_load(f->path, "agent-1", &heads, NULL), 0);
	assert_int_equal(heads.lost, 9);
	audit_heads_free(&heads);
	end(&live);
}

/* Events above a rate are reported also if the room came only with the end of the machine. */
static void room_comes_with_the_end(void **state)
{
	struct fixture *f = *state;
	struct live live = begin(f);
	struct rlimit before;

	limit_set(LIMIT_AUDIT_GUEST_LINES, 20);
	say_at_length(&live, 20);
	before = limit_files(f, 1);
	live_audit(&live, AUDIT_CRITICAL, "vmm", "vmm.crashed", NULL);
	guest_says(&live, 7, "sh");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	end(&live);
	assert_int_equal(count_lines(f, "vmm.crashed"), 1);
	assert_true(
		log_says(f, "{\"lost\":7,\"why\":\"the guest reported more in one second than"));
}

/* A log is removed while there is no room for a copy. The alarm is reported in another place, once,
 * and a look that finds room puts all of the log back. */
static void a_removed_log_waits_for_room(void **state)
{
	struct fixture *f = *state;
	struct live live = begin(f);
	struct rlimit before;
	struct stat st;

	limit_set(LIMIT_AUDIT_GUEST_LINES, 20);
	say_at_length(&live, 20);
	before = limit_files(f, 2);
	assert_int_equal(unlink(at(f, LOG)), 0);
	for (int i = 0; i < 3; i++)
		live_audit_look(&live);
	assert_non_null(strstr(remark, "audit.log cannot be written, events wait: "));
	assert_int_equal(lstat(at(f, LOG), &st), -1);
	autofree char *security = security_log(f);
	assert_int_equal(count(security, "\"event\":\"audit.changed\""), 1);
	assert_non_null(strstr(security, "\"data\":{\"how\":\"removed\"}}\n"));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	live_audit_look(&live);
	assert_string_equal(remark, "audit.log was removed, and was put back");
	assert_int_equal(count_lines(f, "exec.started"), 20);
	end(&live);
	assert_int_equal(count_lines(f, "exec.started"), 20);
	assert_int_equal(count_lines(f, "audit.changed"), 1);
}

#define live_test(fn) cmocka_unit_test_setup_teardown(fn, fixture_make, fixture_drop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		live_test(connections_have_a_rate_of_their_own),
		live_test(room_is_shared_out),
		live_test(a_restart_counts_what_is_there),
		live_test(room_to_wait_is_shared_out),
		live_test(alarms_do_not_wait),
		live_test(room_comes_with_the_end),
		live_test(a_removed_log_waits_for_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
