/* SPDX-License-Identifier: MIT */
/*
 * The program /init of the initramfs. This program is PID 1 and stays PID 1 after the root file
 * system was mounted.
 *
 * PID 1 does the work that must not fail. PID 1 reaps processes, keeps the agent's listening socket
 * open, starts the agent again when the agent exits, and ends the machine in order. PID 1 parses no
 * JSON. PID 1 reads only single bytes from the agent, and messages and events from the kernel.
 *
 * The machine ends in these steps. PID 1 sends a byte to the agent and SIGTERM to all processes,
 * and then reaps until it has no child. At that point no other process of the guest runs, since
 * orphans become children of PID 1. Meanwhile the agent gives its commands LIMIT_POWER_GRACE_MS
 * milliseconds to exit, kills those that still run, sends the last messages to the host and exits.
 * One second after that time PID 1 kills every process that still runs.
 */
#include <sys/socket.h> /* <sys/socket.h> must come first, since vm_sockets.h needs it */

#include <linux/vm_sockets.h>

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/agent_wire.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/loop.h"
#include "guest/console.h"
#include "guest/init/acpi.h"
#include "guest/init/console_shell.h"
#include "guest/init/initramfs.h"
#include "guest/init/kernel_line.h"
#include "guest/init/port.h"
#include "guest/init/power.h"
#include "guest/init/power_key.h"
#include "guest/roles.h"

#define OOM_FILE "/proc/self/oom_score_adj"
#define OOM_SPARED "-999"
#define LINK_WORD \
	"microagent.link" /* a word of the kernel's command line: there is a link to the host */
/* The time in which LIMIT_AGENT_RESTARTS restarts of the agent are allowed. */
#define RESTART_WINDOW_NS (60 * NS_PER_S)
/* How much longer than its commands the agent may take to exit before it is killed. After the kill,
 * PID 1 waits for the same time until all processes are gone. */
#define END_SLACK_NS NS_PER_S

struct power_key {
	struct pid1 *pid1;
	struct loop_watch *watch;
};

struct pid1 {
	struct loop *loop;
	int program_fd, listen_fd;
	int link_fd;  /* the file descriptor of the link to the host; -1: there is no link */
	int agent_fd; /* PID 1's end of the socket pair to the agent; -1: there is no agent */
	struct power_key keys[POWER_KEYS];
	struct loop_watch *agent_watch;
	pid_t agent;
	uint64_t window_ns;
	unsigned restarts;	      /* the number of restarts of the agent since window_ns */
	struct console_shell console; /* the shell on the console, if the host wants one */
	bool stopping, killed;
};

static int listen_for_host(struct error *err)
{
	struct sockaddr_vm addr = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_ANY, .svm_port = AGENT_PORT};
	autoclose int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return error_errno(err, errno, "this kernel has no vsock");
	/* The backlog is as large as possible, since vsock resets a connection for which the
	 * backlog has no room. The agent has its own limit for connections. */
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(fd, SOMAXCONN) < 0)
		return error_errno(err, errno, "cannot listen on vsock port %d", AGENT_PORT);
	return steal_fd(&fd);
}

/* Connects the link to the host. The host already listens when the machine starts. Returns the file
 * descriptor, or -1 on failure. Without a link the host reaches the agent only through the vsock
 * port. */
static int dial_link(void)
{
	const struct sockaddr_vm addr = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_HOST, .svm_port = LINK_PORT};
	autoclose int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (const struct sockaddr *)&addr, sizeof(addr)) == 0 &&
	    fd_nonblock(fd, true, NULL) == 0)
		return steal_fd(&fd);
	console_line("no link to the host: %s", strerror(errno));
	return -1;
}

/* Brings up the loopback interface, so that programs of a guest without a network can connect to
 * each other. */
static void raise_loopback(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) < 0)
		console_line("cannot bring up the loopback interface: %s", strerror(errno));
}

/* --- the agent ------------------------------------------------------------------------------- */

static void become_agent(const int from[AGENT_FD_COUNT])
{
	int count = from[AGENT_FD_LINK] >= 0 ? AGENT_FD_COUNT : AGENT_FD_LINK;
	char *argv[] = {(char[]){ROLE_AGENT}, NULL};
	int high[AGENT_FD_COUNT], oom_fd;
	sigset_t none;

	setsid();
	oom_fd = open(OOM_FILE, O_WRONLY | O_CLOEXEC);
	if (oom_fd >= 0 && write(oom_fd, OOM_SPARED, strlen(OOM_SPARED)) < 0)
		console_line("%s: %s", OOM_FILE, strerror(errno));
	cleanup_close(&oom_fd);
	/* Gives the file descriptors the numbers of enum agent_fd. All other file descriptors have
	 * the flag close-on-exec. */
	for (int i = AGENT_FD_LISTEN; i < count; i++) {
		high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 64);
		if (high[i] < 0)
			_exit(125);
	}
	for (int i = AGENT_FD_LISTEN; i < count; i++)
		if (dup2(high[i], i) < 0)
			_exit(125);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	syscall(SYS_execveat, AGENT_FD_PROGRAM, "", argv, environ, AT_EMPTY_PATH);
	console_line("cannot start the agent: %s", strerror(errno));
	_exit(125);
}

static void stop_machine(struct pid1 *p);

static void on_agent_byte(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct pid1 *p = data;
	char byte = 0;
	ssize_t n = read(fd, &byte, 1);

	(void)loop;
	(void)events;
	if (n == 1 && byte == INIT_POWER_OFF)
		stop_machine(p);
	else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		loop_remove(steal_ptr(&p->agent_watch)); /* the agent has closed its socket */
}

static int start_agent(struct pid1 *p, struct error *err)
{
	int ends[2];

	if (fd_socketpair(ends, err) < 0)
		return -1;
	p->agent_fd = ends[0];
	autoclose int theirs = ends[1];
	p->agent_watch = loop_add_fd(p->loop, p->agent_fd, LOOP_IN, on_agent_byte, p, err);
	if (!p->agent_watch)
		return -1;
	p->agent = fork();
	if (p->agent < 0)
		return error_errno(err, errno, "cannot start the agent");
	if (p->agent == 0) {
		const int from[AGENT_FD_COUNT] = {
			[AGENT_FD_LISTEN] = p->listen_fd,
			[AGENT_FD_INIT] = theirs,
			[AGENT_FD_PROGRAM] = p->program_fd,
			[AGENT_FD_LINK] = p->link_fd,
		};
		become_agent(from);
	}
	return 0;
}

static void agent_ended(struct pid1 *p, const siginfo_t *info)
{
	struct error err = {0};

	p->agent = 0;
	loop_remove(steal_ptr(&p->agent_watch));
	close(steal_fd(&p->agent_fd));
	if (p->stopping)
		return;
	console_line("the agent ended (%s %d)",
		     info->si_code == CLD_EXITED ? "exit code" : "signal", info->si_status);
	if (clock_mono_ns() - p->window_ns > RESTART_WINDOW_NS) {
		p->window_ns = clock_mono_ns();
		p->restarts = 0;
	}
	if (p->restarts++ >= limit_get(LIMIT_AGENT_RESTARTS))
		power_fail("the agent ended too often");
	if (start_agent(p, &err) < 0)
		power_fail(err.msg);
}

/* --- the end --------------------------------------------------------------------------------- */

static void on_agent_deadline(struct loop *loop, void *data)
{
	struct pid1 *p = data;

	if (p->killed)
		power_off(); /* only a process that hangs in the kernel survives SIGKILL */
	p->killed = true;
	kill(-1, SIGKILL);
	if (!loop_add_timer(loop, clock_mono_ns() + END_SLACK_NS, on_agent_deadline, p, NULL))
		power_off();
}

static void stop_machine(struct pid1 *p)
{
	uint64_t grace = limit_get(LIMIT_POWER_GRACE_MS) * NS_PER_MS + END_SLACK_NS;
	char byte = INIT_STOPPING;

	if (p->stopping)
		return;
	p->stopping = true;
	if (p->agent_fd >= 0 && send(p->agent_fd, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		console_line("cannot tell the agent that the machine ends: %s", strerror(errno));
	kill(-1, SIGTERM);
	console_shell_end(&p->console);
	if (!loop_add_timer(p->loop, clock_mono_ns() + grace, on_agent_deadline, p, NULL))
		power_off();
}

static void reap_children(struct pid1 *p)
{
	siginfo_t info = {0};

	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) == 0 && info.si_pid != 0) {
		if (info.si_pid == p->agent)
			agent_ended(p, &info);
		console_shell_reaped(&p->console, info.si_pid);
		info = (siginfo_t){0};
	}
	if (p->stopping && waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 &&
	    errno == ECHILD)
		power_off();
}

/* --- what PID 1 is told ---------------------------------------------------------------------- */

static void on_child_ended(struct loop *loop, int number, void *data)
{
	(void)loop;
	(void)number;
	reap_children(data);
}

/* Handles the signals that ask PID 1 to end the machine. Programs of images, such as poweroff, send
 * some of them. The kernel sends SIGINT for Ctrl-Alt-Del. A VMM without a power button presses
 * these keys. */
static void on_power_signal(struct loop *loop, int number, void *data)
{
	(void)loop;
	(void)number;
	stop_machine(data);
}

static void on_acpi(struct loop *loop, int fd, uint32_t events, void *data)
{
	(void)loop;
	(void)events;
	if (acpi_button_pressed(fd))
		stop_machine(data);
}

static void on_power_key(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct power_key *key = data;
	int pressed = power_key_pressed(fd);

	(void)loop;
	(void)events;
	if (pressed > 0)
		stop_machine(key->pid1);
	else if (pressed < 0)
		loop_remove(steal_ptr(&key->watch));
}

/* Runs PID 1 in the root file system until the machine ends. Returns only on failure. `shell` is
 * true if PID 1 must run a shell on the console. */
static int pid1_run(int program_fd, bool shell, struct error *err)
{
	const int power[] = {SIGUSR1, SIGUSR2, SIGPWR, SIGRTMIN + 4, SIGINT};
	struct rlimit files = {1024, 524288};
	struct pid1 p = {.program_fd = program_fd, .agent_fd = -1};
	int acpi_fd, key_fds[POWER_KEYS];
	size_t keys;

	setrlimit(RLIMIT_NOFILE, &files);
	/* A guest without a vsock device reaches the host through a virtio-serial port. PID 1 keeps
	 * this port open for the next agent, as it does with the listening socket of a guest with
	 * vsock. The port can be opened only once at a time. */
	p.listen_fd = kernel_line_says(PORT_WORD) ? port_open(err) : listen_for_host(err);
	if (p.listen_fd < 0)
		return -1;
	p.link_fd = kernel_line_says(LINK_WORD) ? dial_link() : -1;
	p.loop = loop_new(err);
	if (!p.loop || !loop_add_signal(p.loop, SIGCHLD, on_child_ended, &p, err))
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(power); i++)
		if (!loop_add_signal(p.loop, power[i], on_power_signal, &p, err))
			return -1;
	reboot(RB_DISABLE_CAD); /* makes Ctrl-Alt-Del send SIGINT to PID 1 instead of a reset */
	if (start_agent(&p, err) < 0)
		return -1;

	/* The next steps come after the agent's start, so that they do not delay the agent, which
	 * does not need them. */
	p.console = (struct console_shell){.loop = p.loop, .program_fd = program_fd};
	if (shell)
		console_shell_start(&p.console);
	raise_loopback();
	/* Watches ACPI events and all keyboards with a power key, since a machine may have either
	 * of them. */
	keys = power_keys_open("/dev/input", key_fds);
	acpi_fd = acpi_open(NULL);
	if (acpi_fd >= 0)
		loop_add_fd(p.loop, acpi_fd, LOOP_IN, on_acpi, &p, NULL);
	for (size_t i = 0; i < keys; i++) {
		p.keys[i].pid1 = &p;
		p.keys[i].watch =
			loop_add_fd(p.loop, key_fds[i], LOOP_IN, on_power_key, &p.keys[i], NULL);
	}
	reap_children(&p);
	return loop_run(p.loop, err);
}

/* The role /init. For a reader, the initramfs stays the root file system until the machine ends. */
int role_init(int argc, char **argv)
{
	const char *word = argc == 2 ? argv[1] : "";
	bool reader = strcmp(word, READER_WORD) == 0;
	struct error err = {0};
	int program_fd = -1;

	if ((reader ? initramfs_stay : initramfs_leave)(&program_fd, &err) == 0)
		pid1_run(program_fd, strcmp(word, CONSOLE_WORD) == 0, &err);
	power_fail(err.msg);
}
