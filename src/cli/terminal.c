/* SPDX-License-Identifier: MIT */
#include "cli/terminal.h"

#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

/* Ends with a byte: all is well; or with the end of the pipe: nobody has put the terminal right. */
static void guard(int fd, int pipe, const struct termios *saved)
{
	const int keep[] = {fd, pipe};
	sigset_t all;
	char byte;
	ssize_t n;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	fd_close_others(keep, ARRAY_SIZE(keep));
	/* stdout and stderr may be a pipe whose reader waits for its end. */
	for (int i = 0; i < 3; i++)
		if (i != fd && i != pipe)
			close(i);
	do
		n = read(pipe, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		tcsetattr(fd, TCSANOW, saved);
	_exit(0);
}

static int start_guardian(struct terminal *terminal, struct error *err)
{
	int ends[2];

	if (fd_pipe(ends, err) < 0)
		return -1;
	terminal->guardian = fork();
	if (terminal->guardian == 0) {
		close(ends[1]);
		guard(terminal->fd, ends[0], &terminal->saved);
	}
	close(ends[0]);
	if (terminal->guardian < 0) {
		close(ends[1]);
		return error_errno(err, errno, "fork");
	}
	terminal->guardian_pipe = ends[1];
	return 0;
}

static void end_guardian(struct terminal *terminal)
{
	int status;

	(void)!write(terminal->guardian_pipe, "", 1);
	close(terminal->guardian_pipe);
	while (waitpid(terminal->guardian, &status, 0) < 0 && errno == EINTR)
		;
}

static int watch_size(struct error *err)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return error_errno(err, errno, "sigprocmask");
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? error_errno(err, errno, "signalfd") : fd;
}

int terminal_raw(struct terminal *terminal, int fd, struct error *err)
{
	struct terminal it = {.fd = fd, .guardian_pipe = -1};
	struct termios raw;

	if (tcgetattr(fd, &it.saved) < 0)
		return error_errno(err, errno, "terminal");
	autoclose int resized = watch_size(err);
	if (resized < 0 || start_guardian(&it, err) < 0)
		return -1;
	raw = it.saved;
	cfmakeraw(&raw);
	if (tcsetattr(fd, TCSANOW, &raw) < 0) {
		end_guardian(&it);
		return error_errno(err, errno, "terminal");
	}
	it.resized = steal_fd(&resized);
	*terminal = it;
	return 0;
}

void terminal_restore(struct terminal *terminal)
{
	tcsetattr(terminal->fd, TCSANOW, &terminal->saved);
	end_guardian(terminal);
	close(terminal->resized);
}

void terminal_size(void *data, uint16_t *rows, uint16_t *columns)
{
	const struct terminal *terminal = data;
	struct signalfd_siginfo info;
	struct winsize size = {0};

	while (read(terminal->resized, &info, sizeof(info)) > 0)
		;
	(void)ioctl(terminal->fd, TIOCGWINSZ, &size);
	*rows = size.ws_row ? size.ws_row : 24;
	*columns = size.ws_col ? size.ws_col : 80;
}
