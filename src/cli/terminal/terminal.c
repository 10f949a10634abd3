/* SPDX-License-Identifier: MIT */
#include "cli/terminal/terminal.h"

#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/job_control.h"
#include "base/platform/waitable.h"

/* Runs in the child process that restores the terminal if its parent dies. If a byte comes through
 * the pipe, the parent has restored the terminal. If the pipe ends without a byte, the child
 * restores the terminal. */
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
	/* Closes the standard descriptors. stdout and stderr may be pipes, and their readers wait
	 * until all processes have closed them. */
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

/* Blocks SIGWINCH, which reports that the terminal's size has changed. For a raw terminal, also
 * blocks the signals that stop and continue this program. Returns a descriptor from which these
 * signals are read. */
static int watch(bool is_raw, struct error *err)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	if (is_raw) {
		sigaddset(&set, SIGTSTP);
		sigaddset(&set, SIGCONT);
	}
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return error_errno(err, errno, "sigprocmask");
	fd = signal_fd_open(&set);
	return fd < 0 ? error_errno(err, errno, "signals") : fd;
}

/* Restores the old mode of the terminal. Blocks SIGTTOU, since the change would otherwise stop a
 * program in the background. It is right to change the mode even from the background, since every
 * other job wants the old mode too. */
static void put_right(const struct terminal *terminal)
{
	sigset_t set, before;

	sigemptyset(&set);
	sigaddset(&set, SIGTTOU);
	sigprocmask(SIG_BLOCK, &set, &before);
	tcsetattr(terminal->fd, TCSANOW, &terminal->saved);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Waits until the terminal belongs to this job, for example after `fg` in a shell. Returns -1 if a
 * signal asks this program to end. */
static int await_foreground(int fd, struct error *err)
{
	sigset_t pending;

	while (is_in_background(fd)) {
		if (sigpending(&pending) == 0 &&
		    (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
		     sigismember(&pending, SIGHUP) == 1))
			return error_set(
				err, ERR_CONFLICT,
				"another job has the terminal, and this command was told to end: run it again in the foreground");
		if (!job_stop(SIGTTOU))
			break;
	}
	return 0;
}

static int make_raw(const struct terminal *terminal)
{
	struct termios raw = terminal->saved;

	cfmakeraw(&raw);
	return tcsetattr(terminal->fd, TCSANOW, &raw);
}

int terminal_raw(struct terminal *terminal, int fd, struct error *err)
{
	struct terminal it = {.fd = fd, .is_raw = true, .guardian_pipe = -1};

	if (await_foreground(fd, err) < 0)
		return -1;
	if (tcgetattr(fd, &it.saved) < 0)
		return error_errno(err, errno, "terminal");
	autoclose int resized = watch(true, err);
	if (resized < 0 || start_guardian(&it, err) < 0)
		return -1;
	if (make_raw(&it) < 0) {
		end_guardian(&it);
		return error_errno(err, errno, "terminal");
	}
	it.resized = steal_fd(&resized);
	*terminal = it;
	return 0;
}

int terminal_open(struct terminal *terminal, int in, int out, struct error *err)
{
	struct terminal it = {.fd = -1, .guardian_pipe = -1, .resized = -1};

	if (in >= 0 && isatty(in) == 1)
		return terminal_raw(terminal, in, err);
	if (isatty(out) == 1) {
		it.fd = out;
		it.resized = watch(false, err);
		if (it.resized < 0)
			return -1;
	}
	*terminal = it;
	return 0;
}

void terminal_restore(struct terminal *terminal)
{
	if (terminal->is_raw) {
		put_right(terminal);
		end_guardian(terminal);
	}
	cleanup_close(&terminal->resized);
}

void terminal_size(void *data, uint16_t *rows, uint16_t *columns)
{
	const struct terminal *terminal = data;
	struct winsize size = {0};
	int signal;

	while (terminal->resized >= 0 && (signal = signal_fd_take(terminal->resized)) != 0) {
		if (signal == SIGTSTP) {
			put_right(terminal);
			/* stops this program until SIGCONT comes; that signal is read next */
			raise(SIGSTOP);
		} else if (signal == SIGCONT && !is_in_background(terminal->fd)) {
			/* Makes the terminal raw only in the foreground: in the background it
			 * belongs to another job. SIGCONT comes again when this job gets the
			 * foreground. */
			make_raw(terminal);
		}
	}
	if (terminal->fd >= 0)
		(void)ioctl(terminal->fd, TIOCGWINSZ, &size);
	*rows = size.ws_row ? size.ws_row : 24;
	*columns = size.ws_col ? size.ws_col : 80;
}
