/* SPDX-License-Identifier: MIT */
#include "base/job_control.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

bool is_in_background(int fd)
{
	pid_t job = fd < 0 ? -1 : tcgetpgrp(fd);

	return job >= 0 && job != getpgrp();
}

bool job_stop(int signal)
{
	sigset_t cont, before, pending;
	bool was_stopped;

	/* SIGCONT is blocked, and a stop removes a pending SIGCONT. So a SIGCONT that is pending
	 * after kill() shows that the job was stopped, and was continued by this SIGCONT. */
	sigemptyset(&cont);
	sigaddset(&cont, SIGCONT);
	pthread_sigmask(SIG_BLOCK, &cont, &before);
	was_stopped = kill(0, signal) == 0 && sigpending(&pending) == 0 &&
		      sigismember(&pending, SIGCONT) == 1;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return was_stopped;
}
