/* SPDX-License-Identifier: MIT */
/* Things that the tests of a live supervisor's two sockets share: a control stream with its
 * guest. */
#ifndef TEST_SUPERVISOR_STREAM_H
#define TEST_SUPERVISOR_STREAM_H

#include "test_base.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/frame.h"
#include "base/json.h"
#include "base/limits.h"
#include "supervisor/live/control_sock.h"
#include "supervisor/live/control_stream.h"

/* A stream, its guest, and the events of the stream. */
struct stage {
	struct scratch *scratch;
	struct loop *loop;
	struct log log;
	struct control_stream *stream;
	int guest;
	int hellos, readies, results, said, mounts, quiescings, settlings, losses;
	bool refuse_result, broken, restored;
	char why[256];
};

/* Runs the loop until nothing happens any more. */
static inline void settle_down(struct stage *stage)
{
	struct error err = {0};
	int made;

	do
		made = loop_once(stage->loop, 0, &err);
	while (made > 0);
	assert_int_equal(made, 0);
}

/* What take_all_descriptors() has taken and changed. */
struct few_files {
	struct rlimit before;
	int taken[64];
	size_t count;
};

/* Takes every descriptor that the process may still open, after it has lowered their number. */
static inline void take_all_descriptors(struct few_files *few)
{
	struct rlimit now;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &few->before), 0);
	now = (struct rlimit){ARRAY_SIZE(few->taken), few->before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	few->count = 0;
	while ((few->taken[few->count] = dup(STDIN_FILENO)) >= 0)
		few->count++;
	assert_int_equal(errno, EMFILE);
}

static inline void give_back_descriptors(struct few_files *few)
{
	while (few->count > 0)
		close(few->taken[--few->count]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few->before), 0);
}

static inline int stage_make(void **state)
{
	struct stage *stage = calloc(1, sizeof(*stage));
	void *scratch = NULL;
	struct error err;

	if (scratch_make(&scratch) < 0)
		return -1;
	stage->scratch = scratch;
	stage->guest = -1;
	log_init(&stage->log, -1, 0);
	stage->loop = loop_new(&err);
	*state = stage;
	return stage->loop ? 0 : -1;
}

static inline int stage_drop(void **state)
{
	struct stage *stage = *state;
	void *scratch = stage->scratch;

	control_stream_free(stage->stream);
	loop_free(stage->loop);
	if (stage->guest >= 0)
		close(stage->guest);
	free(stage);
	return scratch_remove(&scratch);
}

#define stage_test(fn) cmocka_unit_test_setup_teardown(fn, stage_make, stage_drop)

#endif
