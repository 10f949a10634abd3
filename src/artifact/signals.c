/* SPDX-License-Identifier: MIT */
#include <signal.h>

#include "artifact/artifact.h"
#include "base/cleanup.h"

static volatile sig_atomic_t ending; /* number of the signal that has asked this program to end; 0:
				      * no signal */

static void note_signal(int number)
{
	ending = number;
}

int artifact_check_signal(struct error *err)
{
	return ending ? error_set(err, ERR_UNAVAILABLE, "interrupted") : 0;
}

/* The handlers are set without SA_RESTART, so that a signal interrupts every wait. A signal that
 * was ignored at the start (nohup) stays ignored. */
void artifact_catch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	const struct sigaction action = {.sa_handler = note_signal};
	struct sigaction present;

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		if (sigaction(signals[i], NULL, &present) == 0 && present.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	/* The kernel sends SIGXFSZ for a write beyond `ulimit -f`. If SIGXFSZ is ignored, the write
	 * fails with EFBIG, and this program can report the error. */
	signal(SIGXFSZ, SIG_IGN);
}

void artifact_end_by_signal(void)
{
	if (!ending)
		return;
	signal(ending, SIG_DFL);
	raise(ending);
}
