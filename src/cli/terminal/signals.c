/* SPDX-License-Identifier: MIT */
#include "cli/terminal/signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/platform/waitable.h"
#include "microagent.h"

static int open_for(const int *numbers, size_t count, struct signals *out, struct error *err)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (size_t i = 0; i < count; i++)
		sigaddset(&set, numbers[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return error_errno(err, errno, "sigprocmask");
	fd = signal_fd_open(&set);
	if (fd < 0)
		return error_errno(err, errno, "signals");
	*out = (struct signals){.fd = fd, .set = set};
	return 0;
}

int signals_open_ending(struct signals *out, struct error *err)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

	return open_for(numbers, ARRAY_SIZE(numbers), out, err);
}

int signals_open_forwarded(struct signals *out, struct error *err)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

	return open_for(numbers, ARRAY_SIZE(numbers), out, err);
}

void signals_close(struct signals *signals)
{
	cleanup_close(&signals->fd);
	signals->fd = -1;
}

void signals_give_back(struct signals *signals)
{
	if (signals->fd < 0)
		return;
	while (signal_fd_take(signals->fd))
		;
	signals_close(signals);
	sigprocmask(SIG_UNBLOCK, &signals->set, NULL);
}

static int take(struct signals *signals)
{
	int number = signal_fd_take(signals->fd);

	if (number)
		signals->last = number;
	return number;
}

int signals_next(void *data)
{
	struct signals *signals = data;
	int number = take(signals);

	if (number != SIGINT && number != SIGTERM)
		return number;
	if (signals->asked)
		return MICROAGENT_SIGNAL_END;
	signals->asked = true;
	return number;
}

bool signals_have_come(const struct signals *signals)
{
	struct pollfd slot = {.fd = signals->fd, .events = POLLIN};

	return poll(&slot, 1, 0) > 0;
}

int signals_that_came(struct signals *signals)
{
	if (signals->last == 0)
		take(signals);
	return signals->last ? signals->last : SIGTERM;
}

int signals_end_command(const struct cli *cli, struct signals *signals, int code,
			const struct error *err)
{
	if (code < 0 && signals->fd >= 0 && signals_next(signals) > 0) {
		cli_warn_error(cli, "", err);
		code = 128 + signals_that_came(signals);
	}
	signals_close(signals);
	return code;
}
