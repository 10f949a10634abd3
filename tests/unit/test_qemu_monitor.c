/* SPDX-License-Identifier: MIT */
/* Tests the meaning of QEMU's events for a VM. No process is started: the test hands the events
 * over. */
#include "test_base.h"

#include <jansson.h>
#include <sys/socket.h>

#include "backend/qemu/qemu.h"
#include "base/fd.h"

struct heard {
	int full;
	char detail[256];
};

static void on_full(void *data, const char *serial, const char *reason)
{
	struct heard *h = data;

	h->full++;
	snprintf(h->detail, sizeof(h->detail), "disk %.32s: %.100s", serial, reason);
}

/* The monitor's connection; the test plays QEMU's end. */
static struct loop *loop;
static int far_end;

static int open_monitor(void **state)
{
	struct error err = {0};

	(void)state;
	loop = loop_new(&err);
	return loop ? 0 : -1;
}

static int close_monitor(void **state)
{
	(void)state;
	loop_free(loop);
	return 0;
}

/* QEMU sends that, and the client reads it. */
static void says(struct qemu *qemu, const char *text)
{
	assert_int_equal(write(far_end, text, strlen(text)), strlen(text));
	qmp_drain(qemu->qmp);
}

/* Its first command will have the number 2. */
static void negotiated(struct qemu *qemu)
{
	struct qmp_events events = qemu_monitor_events;
	struct error err = {0};
	int ends[2];

	assert_ok(fd_socketpair(ends, &err));
	far_end = ends[1];
	events.data = qemu;
	events.ready = NULL;
	qemu->vm.loop = loop;
	qemu->qmp = qmp_new(loop, ends[0], &events, &err);
	assert_non_null(qemu->qmp);
	says(qemu, "{\"QMP\": {}}\n{\"return\": {}, \"id\": 1}\n");
}

/* Returns the commands to QEMU since the last look. */
static void over(struct qemu *qemu, char *told, size_t size)
{
	ssize_t n = recv(far_end, told, size - 1, MSG_DONTWAIT);

	told[n > 0 ? n : 0] = '\0';
	loop_remove(qemu->vm.grace_timer);
	qmp_free(qemu->qmp);
	close(far_end);
}

static struct qemu without_processes(struct heard *h)
{
	return (struct qemu){.vm = {.events = {.disk_full = on_full, .data = h},
				    .cell = CELL_NONE,
				    .read_fds = {-1, -1}}};
}

static void tell(struct qemu *qemu, const char *name, const char *body)
{
	json_auto_t *data = body ? json_loads(body, 0, NULL) : NULL;

	assert_true(!body || data);
	qemu_monitor_events.event(qemu, name, data);
}

static void every_reason_has_its_end(void **state)
{
	static const struct {
		const char *reason;
		enum vm_end end;
	} rows[] = {
		{"guest-shutdown", VM_END_POWERED_OFF}, {"guest-reset", VM_END_RESET},
		{"guest-panic", VM_END_RESET},		{"subsystem-reset", VM_END_RESET},
		{"host-qmp-quit", VM_END_KILLED},	{"host-signal", VM_END_CRASHED},
		{"host-error", VM_END_CRASHED},		{"something-new", VM_END_CRASHED},
	};
	struct heard h = {0};
	char body[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct qemu qemu = without_processes(&h);

		snprintf(body, sizeof(body), "{\"reason\": \"%s\"}", rows[i].reason);
		tell(&qemu, "SHUTDOWN", body);
		assert_true(qemu.vm.end_told);
		assert_int_equal(qemu.vm.end, rows[i].end);
		assert_int_equal(*qemu.vm.detail == '\0', rows[i].end == VM_END_POWERED_OFF);
	}
}

static void the_first_word_on_the_end_counts(void **state)
{
	struct heard h = {0};
	struct qemu qemu = without_processes(&h);

	(void)state;
	tell(&qemu, "GUEST_PANICKED", "{\"action\": \"poweroff\"}");
	tell(&qemu, "SHUTDOWN", "{\"reason\": \"guest-shutdown\"}");
	assert_int_equal(qemu.vm.end, VM_END_RESET);
	assert_string_equal(qemu.vm.detail, "the guest's kernel panicked");
}

#define STOP "{\"event\": \"STOP\"}\n"
#define STATUS(id, status) "{\"return\": {\"status\": \"" status "\"}, \"id\": " id "}\n"
/* Answers of query-block: a disk that is well, and one that is not. */
#define DISKS(id, status)                                                                          \
	"{\"return\": [{\"io-status\": \"ok\", \"inserted\": {\"node-name\": \"data\"}}, "         \
	"{\"io-status\": \"" status "\", \"inserted\": {\"node-name\": \"rootfs\"}}], \"id\": " id \
	"}\n"
#define FULL                                                                                  \
	"{\"event\": \"BLOCK_IO_ERROR\", \"data\": {\"node-name\": \"rootfs\", \"nospace\": " \
	"true, "                                                                              \
	"\"reason\": \"No space left on device\"}}\n"

/* By the state of its disks, since the event may be late and about an earlier pause. */
static void a_full_disk_is_told_once_a_pause(void **state)
{
	struct heard h = {0};
	struct qemu qemu = without_processes(&h);
	struct error err = {0};
	char told[512];

	(void)state;
	negotiated(&qemu);
	says(&qemu, FULL FULL STOP STATUS("2", "io-error") DISKS("3", "nospace") FULL);
	assert_int_equal(h.full, 1);
	assert_string_equal(h.detail, "disk rootfs: No space left on device");
	assert_true(qemu.paused);
	assert_ok(qemu_resume(&qemu.vm, &err)); /* number 4 */
	says(&qemu, FULL);
	assert_false(qemu.paused);
	says(&qemu, STOP STATUS("5", "io-error") DISKS("6", "nospace"));
	assert_int_equal(h.full, 2);
	over(&qemu, told, sizeof(told));
	assert_false(qemu.vm.end_told);
}

static void other_disk_errors_pause_nothing(void **state)
{
	struct heard h = {0};
	struct qemu qemu = without_processes(&h);

	(void)state;
	tell(&qemu, "BLOCK_IO_ERROR", "{\"nospace\": false, \"reason\": \"Input/output error\"}");
	tell(&qemu, "BLOCK_IO_ERROR", "{\"nospace\": 1}");
	assert_int_equal(h.full, 0);
	assert_false(qemu.paused);
}

/* A guest may have taken QEMU over. */
static void wrong_bodies_are_survived(void **state)
{
	static const char *const names[] = {"SHUTDOWN", "GUEST_PANICKED", "BLOCK_IO_ERROR",
					    "STOP",	"RESUME",	  "UNHEARD_OF"};
	static const char *const bodies[] = {
		NULL, "{}", "{\"reason\": 5, \"nospace\": true, \"node-name\": []}"};
	struct heard h = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(bodies); j++) {
			struct qemu qemu = without_processes(&h);
			char told[512];

			negotiated(&qemu);
			tell(&qemu, names[i], bodies[j]);
			assert_int_equal(qemu.vm.end_told, i < 2);
			over(&qemu, told, sizeof(told));
		}
	}
	assert_int_equal(h.full, 0);
}

/* A stop that nobody asked for ends the VM, by QEMU itself, so that its disks lack nothing. */
static void a_vm_that_stands_still(void **state)
{
	static const struct {
		const char *said, *detail; /* NULL: all is well */
	} rows[] = {
		{STOP STATUS("2", "internal-error"),
		 "internal-error (the accelerator cannot run an instruction or a state of the "
		 "guest)"},
		{STOP STATUS("2", "io-error") DISKS("3", "failed"),
		 "io-error (a disk has an error)"},
		{STOP STATUS("2", "io-error") "{\"return\": 5, \"id\": 3}\n",
		 "io-error (a disk has an error)"},
		{STOP STATUS("2", "guest-panicked"),
		 "guest-panicked (the guest's kernel panicked)"},
		{"{\"event\": \"SUSPEND\"}\n" STATUS("2", "suspended"),
		 "suspended (the guest suspended itself, and nothing would wake it)"},
		{STOP STATUS("2", "novel"), "novel (the reason is not known)"},
		{STOP STATUS("2", "paused"), NULL},
		{STOP STATUS("2", "running"), NULL},
		{STOP STATUS("2", "finish-migrate"), NULL},
		{STOP STATUS("2", "shutdown"), NULL},
		{FULL STOP STATUS("2", "io-error") DISKS("3", "nospace"), NULL},
		{STOP STATUS("2", "io-error") "{\"error\": {}, \"id\": 3}\n", NULL},
		/* nobody can say */
		{STOP "{\"error\": {}, \"id\": 2}\n", NULL},
		/* It ends, and the reason was reported before. */
		{STOP
		 "{\"event\": \"SHUTDOWN\", \"data\": {\"reason\": \"guest-shutdown\"}}\n" STATUS(
			 "2", "internal-error"),
		 ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct heard h = {0};
		struct qemu qemu = without_processes(&h);
		char told[512];

		negotiated(&qemu);
		says(&qemu, rows[i].said);
		over(&qemu, told, sizeof(told));
		assert_string_equal(qemu.vm.detail, rows[i].detail ? rows[i].detail : "");
		assert_int_equal(qemu.vm.end_told, rows[i].detail != NULL);
		assert_int_equal(strstr(told, "\"quit\"") != NULL,
				 rows[i].detail && *rows[i].detail);
		if (rows[i].detail && *rows[i].detail)
			assert_int_equal(qemu.vm.end, VM_END_STOPPED);
	}
}

/* The disk was full, the VM was told to go on, and the answer is about the time before. */
static void a_reason_from_before_it_went_on(void **state)
{
	struct heard h = {0};
	struct qemu qemu = without_processes(&h);
	struct error err = {0};
	char told[512];

	(void)state;
	negotiated(&qemu);
	says(&qemu, STOP);
	assert_ok(qemu_resume(&qemu.vm, &err)); /* number 3 */
	says(&qemu, STATUS("2", "io-error"));
	assert_false(qemu.vm.end_told);
	says(&qemu, STATUS("4", "io-error"));
	assert_ok(qemu_resume(&qemu.vm, &err)); /* number 6, while 5 asks for the disks */
	says(&qemu, DISKS("5", "nospace"));
	assert_int_equal(h.full, 0);
	says(&qemu, STATUS("7", "io-error") DISKS("8", "failed"));
	over(&qemu, told, sizeof(told));
	assert_true(qemu.vm.end_told);
}

static void long_texts_are_cut(void **state)
{
	struct heard h = {0};
	struct qemu qemu = without_processes(&h);
	char body[2048], name[1024];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(body, sizeof(body), "{\"reason\": \"%s\"}", name);
	tell(&qemu, "SHUTDOWN", body);
	assert_true(strlen(qemu.vm.detail) < 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reason_has_its_end),
		cmocka_unit_test(the_first_word_on_the_end_counts),
		cmocka_unit_test(a_full_disk_is_told_once_a_pause),
		cmocka_unit_test(other_disk_errors_pause_nothing),
		cmocka_unit_test(wrong_bodies_are_survived),
		cmocka_unit_test(a_vm_that_stands_still),
		cmocka_unit_test(a_reason_from_before_it_went_on),
		cmocka_unit_test(long_texts_are_cut),
	};

	return cmocka_run_group_tests(tests, open_monitor, close_monitor);
}
