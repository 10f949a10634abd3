/* SPDX-License-Identifier: MIT */
/*
 * The balloon, which changes the size of the guest's memory. QEMU tells the guest's driver the size
 * that the guest must have, and the driver tells QEMU the size that the guest has reached. QEMU
 * punches holes into the memory file where the driver has given up memory, so that the host can use
 * this memory again.
 *
 * A guest needs time, and may be unable to give up enough memory. The balloon command is answered
 * when the guest has reached the wanted size, or when its time is over. The answer is the size of
 * the guest's memory at that moment.
 */
#include <stdlib.h>

#include "backend/qemu/qemu.h"
#include "base/cleanup.h"
#include "base/limits.h"

#define MIB (INT64_C(1) << 20)

static void finish_balloon(struct qemu *qemu, const struct error *why)
{
	struct qemu_balloon done = qemu->balloon;

	loop_remove(qemu->balloon.timer);
	qemu->balloon = (struct qemu_balloon){.actual_mib = done.actual_mib};
	if (done.fn)
		done.fn(done.data, done.actual_mib, why);
}

static void take_actual(struct qemu *qemu, const json_t *body)
{
	qemu->balloon.actual_mib = json_integer_value(json_object_get(body, "actual")) / MIB;
}

static void on_last_look(void *data, const json_t *result, const struct error *why)
{
	struct qemu *qemu = data;

	if (!why)
		take_actual(qemu, result);
	finish_balloon(qemu, why);
}

static void on_balloon_timer(struct loop *loop, void *data)
{
	struct qemu *qemu = data;
	struct error err = {0};

	(void)loop;
	qemu->balloon.timer = NULL;
	if (qmp_send(qemu->qmp, "query-balloon", NULL, on_last_look, qemu, &err) < 0)
		finish_balloon(qemu, &err);
}

/* Handles QEMU's first answer about the size of the guest's memory. The memory may already have the
 * wanted size. */
static void on_first_look(void *data, const json_t *result, const struct error *why)
{
	struct qemu *qemu = data;
	struct error err = {0};

	if (why) {
		finish_balloon(qemu, why);
		return;
	}
	take_actual(qemu, result);
	if (!qemu->balloon.fn || qemu->balloon.actual_mib == qemu->balloon.wanted_mib) {
		finish_balloon(qemu, NULL);
		return;
	}
	qemu->balloon.timer = loop_add_timer(qemu->vm.loop, limit_deadline(LIMIT_BALLOON_MS),
					     on_balloon_timer, qemu, &err);
	if (!qemu->balloon.timer)
		finish_balloon(qemu, &err);
}

static void on_balloon_set(void *data, const json_t *result, const struct error *why)
{
	struct qemu *qemu = data;
	struct error err = {0};

	(void)result;
	if (why)
		finish_balloon(qemu, why);
	else if (qmp_send(qemu->qmp, "query-balloon", NULL, on_first_look, qemu, &err) < 0)
		finish_balloon(qemu, &err);
}

void qemu_on_balloon_change(struct qemu *qemu, const json_t *body)
{
	take_actual(qemu, body);
	/* A missing timer means that no balloon command waits, or that QEMU has not yet answered
	 * query-balloon. */
	if (qemu->balloon.timer && qemu->balloon.actual_mib == qemu->balloon.wanted_mib)
		finish_balloon(qemu, NULL);
}

int qemu_balloon(struct vm *vm, int64_t mib, vm_balloon_fn *fn, void *data, struct error *err)
{
	struct qemu *qemu = qemu_of(vm);
	json_t *arguments;

	if (qemu->origin != VM_COLD) {
		error_set(
			err, ERR_UNSUPPORTED,
			"a machine that was restored, or from which others are restored, has no balloon: these machines share memory");
		return error_reason(err, REASON_SESSION_RESTORED, "");
	}
	if (qemu->balloon.fn)
		return error_set(
			err, ERR_CONFLICT,
			"another request is changing the machine's memory balloon: try again when that request has ended");
	if (mib > qemu->memory_mib)
		return error_set(
			err, ERR_INVALID,
			"the machine was made with %lld MiB of memory, so it cannot get %lld MiB: give it at most the memory that it was made with",
			(long long)qemu->memory_mib, (long long)mib);
	arguments = json_pack("{s:I}", "value", (json_int_t)mib * MIB);
	if (!arguments)
		return error_set(err, ERR_IO, "out of memory");
	if (qmp_send(qemu->qmp, "balloon", arguments, on_balloon_set, qemu, err) < 0)
		return -1;
	qemu->balloon.fn = fn;
	qemu->balloon.data = data;
	qemu->balloon.wanted_mib = mib;
	return 0;
}
