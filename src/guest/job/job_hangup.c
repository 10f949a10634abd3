/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "base/limits.h"
#include "guest/job/job_impl.h"

static void on_hang_up_late(struct loop *loop, void *data)
{
	struct job *job = data;

	(void)loop;
	job->timeout = NULL;
	job_kill(job);
}

void job_hang_up(struct job *job)
{
	uint64_t until = limit_deadline(LIMIT_HANG_UP_MS);

	/* Before the program runs there is nobody at the terminal who could take the hint. */
	if (!job->terminal || !job_is_running(job)) {
		job_abandon(job);
		return;
	}
	job->owner = NULL;
	/* The kernel sends SIGHUP to the session's leader and to the group in the foreground. */
	job_io_close(job);
	loop_remove(job->timeout);
	job->timeout = loop_add_timer(job->table->loop, until, on_hang_up_late, job, NULL);
	if (!job->timeout)
		job_kill(job);
}
