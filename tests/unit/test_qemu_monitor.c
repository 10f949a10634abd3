/* SPDX-License-Identifier: MIT */
/* What QEMU's events mean for a VM. No process is started: the events are handed over by hand. */
#include "test_base.h"

#include <jansson.h>

#include "backend/qemu/vm.h"
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

/* A monitor to which much may be said, and that never answers. */
static struct loop *loop;
static struct qmp *deaf;
static int far_end;

static int open_monitor(void **state)
{
	struct error err = {0};
	int ends[2];

	(void)state;
	loop = loop_new(&err);
	assert_ok(fd_socketpair(ends, &err));
	far_end = ends[1];
	deaf = qmp_new(loop, ends[0], &vm_monitor_events, &err);
	return loop && deaf ? 0 : -1;
}

static int close_monitor(void **state)
{
	(void)state;
	qmp_free(deaf);
	loop_free(loop);
	close(far_end);
	return 0;
}

static struct vm without_processes(struct heard *h)
{
	return (struct vm){
		.events = {.disk_full = on_full, .data = h}, .cell = CELL_NONE, .qmp = deaf};
}

static void tell(struct vm *vm, const char *name, const char *body)
{
	json_auto_t *data = body ? json_loads(body, 0, NULL) : NULL;

	assert_true(!body || data);
	vm_monitor_events.event(vm, name, data);
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
		struct vm vm = without_processes(&h);

		snprintf(body, sizeof(body), "{\"reason\": \"%s\"}", rows[i].reason);
		tell(&vm, "SHUTDOWN", body);
		assert_true(vm.end_told);
		assert_int_equal(vm.end, rows[i].end);
		assert_int_equal(*vm.detail == '\0', rows[i].end == VM_END_POWERED_OFF);
	}
}

static void the_first_word_on_the_end_counts(void **state)
{
	struct heard h = {0};
	struct vm vm = without_processes(&h);

	(void)state;
	tell(&vm, "GUEST_PANICKED", "{\"action\": \"poweroff\"}");
	tell(&vm, "SHUTDOWN", "{\"reason\": \"guest-shutdown\"}");
	assert_int_equal(vm.end, VM_END_RESET);
	assert_string_equal(vm.detail, "the guest's kernel panicked");
}

static void a_full_disk_is_told_once_a_pause(void **state)
{
	static const char full[] = "{\"node-name\": \"rootfs\", \"nospace\": true, "
				   "\"reason\": \"No space left on device\"}";
	struct heard h = {0};
	struct vm vm = without_processes(&h);

	(void)state;
	tell(&vm, "BLOCK_IO_ERROR", full);
	tell(&vm, "BLOCK_IO_ERROR", full);
	assert_int_equal(h.full, 1);
	assert_string_equal(h.detail, "disk rootfs: No space left on device");
	vm.paused = false;
	tell(&vm, "BLOCK_IO_ERROR", full);
	assert_int_equal(h.full, 2);
}

static void other_disk_errors_pause_nothing(void **state)
{
	struct heard h = {0};
	struct vm vm = without_processes(&h);

	(void)state;
	tell(&vm, "BLOCK_IO_ERROR", "{\"nospace\": false, \"reason\": \"Input/output error\"}");
	tell(&vm, "BLOCK_IO_ERROR", "{\"nospace\": 1}");
	assert_int_equal(h.full, 0);
	assert_false(vm.paused);
}

/* QEMU may be in a guest's hands. */
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
			struct vm vm = without_processes(&h);
			tell(&vm, names[i], bodies[j]);
			assert_int_equal(vm.end_told, i < 2);
		}
	}
	assert_int_equal(h.full, 1);
	assert_string_equal(h.detail, "disk ?: no space left");
}

static void long_texts_are_cut(void **state)
{
	struct heard h = {0};
	struct vm vm = without_processes(&h);
	char body[2048], name[1024];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(body, sizeof(body), "{\"reason\": \"%s\"}", name);
	tell(&vm, "SHUTDOWN", body);
	assert_true(strlen(vm.detail) < 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reason_has_its_end),
		cmocka_unit_test(the_first_word_on_the_end_counts),
		cmocka_unit_test(a_full_disk_is_told_once_a_pause),
		cmocka_unit_test(other_disk_errors_pause_nothing),
		cmocka_unit_test(wrong_bodies_are_survived),
		cmocka_unit_test(long_texts_are_cut),
	};

	return cmocka_run_group_tests(tests, open_monitor, close_monitor);
}
