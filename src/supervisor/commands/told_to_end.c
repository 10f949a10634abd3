/* SPDX-License-Identifier: MIT */
#include "supervisor/commands/told_to_end.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/platform/descriptor.h"
#include "channel/hasher.h"
#include "supervisor/live/outcome.h"

/* `run_lifeline` is the writing end of the lifeline of the command run. The signal handler closes
 * it. If there is no machine yet, the closed lifeline stops the hashing of files. Otherwise the
 * live supervisor notices it, ends the machine and reports, and run gives its usual answer. */
static volatile sig_atomic_t run_lifeline = -1, told_to_end;

static void on_told_to_end(int number)
{
	int saved = errno, nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)number;
	told_to_end = 1;
	/* The byte tells the live supervisor that the lifeline ends because of SIGTERM. */
	(void)!write(run_lifeline, "t", 1);
	/* Closes the lifeline by replacing it with a descriptor of /dev/null. So no later open()
	 * can return the same number. */
	if (nothing >= 0 && descriptor_replace(nothing, run_lifeline, true) >= 0)
		close(nothing);
	errno = saved;
}

int told_begin(int *lifeline, int *line_end, struct error *err)
{
	struct sigaction action = {.sa_handler = on_told_to_end, .sa_flags = SA_RESTART};
	int ends[2];

	if (fd_pipe(ends, err) < 0)
		return -1;
	*line_end = ends[0];
	run_lifeline = *lifeline = ends[1];
	digest_cancel_also_by(*line_end);
	sigaction(SIGTERM, &action, NULL);
	return 0;
}

bool told_is(void)
{
	return told_to_end;
}

int told_say(struct error *err)
{
	return error_set(err, ERR_CONFLICT, RUN_TOLD);
}

void told_close(int *line_end)
{
	digest_cancel_also_by(-1);
	if (*line_end >= 0)
		close(steal_fd(line_end));
}
