/* SPDX-License-Identifier: MIT */
#include "guest/init/console_shell.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "guest/console.h"
#include "guest/job/environ.h"
#include "guest/roles.h"

#define ACTIVE_CONSOLES "/sys/class/tty/console/active"
#define HOME "/root"
#define WAIT_DOUBLINGS 3

/* Opens the terminal device of the kernel's console. The device's name is the last word of the file
 * ACTIVE_CONSOLES. The code does not open /dev/console, because /dev/console cannot be a
 * controlling terminal. */
static int open_kernels_console(struct error *err)
{
	autofile FILE *file = fopen(ACTIVE_CONSOLES, "re");
	char line[256] = "", path[300];
	char *name;

	if (!file || !fgets(line, sizeof(line), file))
		return error_errno(err, errno, ACTIVE_CONSOLES);
	line[strcspn(line, "\n")] = '\0';
	name = strrchr(line, ' ');
	snprintf(path, sizeof(path), "/dev/%s", name ? name + 1 : line);
	int fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	return fd >= 0 ? fd : error_errno(err, errno, "%s", path);
}

/* Starts a new POSIX session with the kernel's console as its terminal, and takes the console away
 * from any other POSIX session. The console becomes the file descriptors 0, 1 and 2. */
static int take_kernels_console(struct error *err)
{
	autoclose int terminal = open_kernels_console(err);
	struct termios modes;

	if (terminal < 0)
		return -1;
	if (setsid() < 0 || ioctl(terminal, TIOCSCTTY, 1) < 0)
		return error_errno(err, errno, "the console cannot be a terminal");
	/* Sets the modes of the terminal that a person needs, such as line editing and echo. An
	 * earlier program may have set other modes. */
	if (tcgetattr(terminal, &modes) == 0) {
		modes.c_iflag = ICRNL | IXON | IUTF8;
		modes.c_oflag = OPOST | ONLCR;
		modes.c_lflag = ISIG | ICANON | IEXTEN | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE;
		modes.c_cc[VINTR] = 'C' - '@';
		modes.c_cc[VQUIT] = '\\' - '@';
		modes.c_cc[VEOF] = 'D' - '@';
		modes.c_cc[VSUSP] = 'Z' - '@';
		modes.c_cc[VKILL] = 'U' - '@';
		modes.c_cc[VERASE] = 0x7f;
		tcsetattr(terminal, TCSANOW, &modes);
	}
	for (int i = 0; i < 3; i++)
		if (dup2(terminal, i) < 0)
			return error_errno(err, errno, "dup2");
	return 0;
}

static void become_console_shell(int program_fd)
{
	char *argv[] = {(char[]){ROLE_SHELL}, NULL};
	char *envp[] = {(char[]){"PATH=" DEFAULT_PATH},	 (char[]){"HOME=" HOME},
			(char[]){"USER=root"},		 (char[]){"LOGNAME=root"},
			(char[]){"TERM=xterm-256color"}, NULL};
	struct error err = {0};
	sigset_t none;

	if (take_kernels_console(&err) < 0) {
		console_line("no shell on the console: %s", err.msg);
		_exit(125);
	}
	if (chdir(HOME) < 0 && chdir("/") < 0)
		_exit(125);
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	syscall(SYS_execveat, program_fd, "", argv, envp, AT_EMPTY_PATH);
	console_line("no shell on the console: %s", strerror(errno));
	_exit(125);
}

void console_shell_start(struct console_shell *shell)
{
	shell->began_ns = clock_mono_ns();
	shell->pid = fork();
	if (shell->pid == 0)
		become_console_shell(shell->program_fd);
	if (shell->pid > 0)
		return;
	console_line("no shell on the console: %s", strerror(errno));
	shell->pid = 0;
}

static void on_waited(struct loop *loop, void *data)
{
	struct console_shell *shell = data;

	(void)loop;
	shell->timer = NULL;
	console_shell_start(shell);
}

/* Starts a new shell if `pid` is the shell, which has exited. If each shell exits at once, for
 * example because the image has no shell, waits longer each time before the next start. */
void console_shell_reaped(struct console_shell *shell, pid_t pid)
{
	uint64_t least = limit_get(LIMIT_CONSOLE_SHELL_MS) * NS_PER_MS;

	if (!shell->pid || pid != shell->pid)
		return;
	shell->pid = 0;
	if (clock_mono_ns() - shell->began_ns >= least)
		shell->wait_ns = 0;
	else if (!shell->wait_ns)
		shell->wait_ns = least;
	else if (shell->wait_ns < least << WAIT_DOUBLINGS)
		shell->wait_ns *= 2;
	if (!shell->wait_ns)
		console_shell_start(shell);
	else
		shell->timer = loop_add_timer(shell->loop, clock_mono_ns() + shell->wait_ns,
					      on_waited, shell, NULL);
}

void console_shell_end(struct console_shell *shell)
{
	if (shell->pid)
		kill(shell->pid, SIGHUP);
	loop_remove(shell->timer);
	*shell = (struct console_shell){0};
}
