/* SPDX-License-Identifier: MIT */
/*
 * What runs in QEMU's place when a guest has taken QEMU over: in its cell, with its descriptors,
 * under its user and its filter. What it is called says what it does:
 *
 * - vmm-look: tries to reach what is not its own, writes into its disk what it could, and ends
 * - vmm-call-NAME: makes the one system call, which may be its end
 * - vmm-qmp-NAME: a monitor that lies. NAME is silent, noise, long, deep, flood, answers, stranger
 */
#include <sys/socket.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char report[16384];
static size_t reported;

__attribute__((format(printf, 1, 2))) static void tell(const char *what, ...)
{
	va_list args;

	va_start(args, what);
	reported += (size_t)vsnprintf(report + reported, sizeof(report) - reported - 1, what, args);
	va_end(args);
}

static void could(const char *what, long answer)
{
	if (answer >= 0)
		tell("could %s\n", what);
	else
		tell("could not %s: %s\n", what, strerrorname_np(errno));
}

/* Finds the disk, which is the one regular file that may be written. */
static void hand_in(void)
{
	struct stat st;

	for (int fd = 3; fd < 256; fd++)
		if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		    (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR) {
			(void)!pwrite(fd, report, reported + 1, 0);
			return;
		}
}

/* --- what it can reach ----------------------------------------------------------------------- */

static void files(void)
{
	static const char *const secret[] = {"/etc/passwd",	"/etc/shadow", "/root", "/home",
					     "/proc/self/maps", "/sys",	       "/run",	"/dev/mem",
					     "/dev/kmsg",	"/dev/vda"};

	for (size_t i = 0; i < sizeof(secret) / sizeof(*secret); i++) {
		int fd = open(secret[i], O_RDONLY);

		if (fd >= 0) {
			tell("could open %s\n", secret[i]);
			close(fd);
		}
	}
	could("make a file", open("/new", O_CREAT | O_WRONLY, 0600));
	could("make a directory", mkdir("/lib/new", 0700));
	could("open the kernel for writing", open("/kernel", O_WRONLY));
	could("change the kernel's mode", chmod("/kernel", 0666));
	could("touch the kernel", utimensat(AT_FDCWD, "/kernel", NULL, 0));
}

static void descriptors(void)
{
	struct stat st;

	for (int fd = 0; fd < 1024; fd++) {
		int flags = fcntl(fd, F_GETFL);

		if (flags < 0 || fstat(fd, &st) < 0)
			continue;
		if (S_ISDIR(st.st_mode))
			tell("holds a directory\n");
		if (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode))
			tell("holds device %lx\n", (unsigned long)st.st_rdev);
	}
}

static void network(void)
{
	static const struct {
		const char *what;
		int family, type;
	} sockets[] = {
		{"have a socket of IPv4", AF_INET, SOCK_STREAM},
		{"have a socket of IPv6", AF_INET6, SOCK_STREAM},
		{"have a Unix socket", AF_UNIX, SOCK_STREAM},
		{"have a netlink socket", AF_NETLINK, SOCK_RAW},
		{"have a packet socket", AF_PACKET, SOCK_RAW},
	};
	static const struct {
		const char *what;
		int type;
	} pairs[] = {{"have a pair of datagrams", SOCK_DGRAM},
		     {"have a pair of packets", SOCK_SEQPACKET}};
	int ends[2];

	for (size_t i = 0; i < sizeof(sockets) / sizeof(*sockets); i++)
		could(sockets[i].what, socket(sockets[i].family, sockets[i].type, 0));
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		could(pairs[i].what, socketpair(AF_UNIX, pairs[i].type, 0, ends));
}

/* Tries pids. In its cell only this process has one. */
static void processes(void)
{
	long seen = 0;

	for (int pid = 1; pid < 70000; pid++)
		if (pid != getpid() && (kill(pid, 0) == 0 || errno == EPERM))
			seen++;
	tell("sees %ld processes\n", seen);
}

static void rights(void)
{
	struct __user_cap_header {
		unsigned version;
		int pid;
	} head = {0x20080522, 0};
	struct {
		unsigned effective, permitted, inheritable;
	} sets[2] = {{0}};

	tell("is user %s\n", getuid() ? "of its own" : "0 of its cell");
	syscall(SYS_capget, &head, sets);
	tell("has capabilities %x%08x\n", sets[1].permitted, sets[0].permitted);
	tell("no new privileges: %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
	could("become root", setresuid(0, 0, 0));
}

static void look(void)
{
	files();
	descriptors();
	network();
	processes();
	rights();
	hand_in();
}

/* --- calls that no VMM makes ----------------------------------------------------------------- */

#define X32 0x40000000

static const struct call {
	const char *name;
	long number, args[5];
} calls[] = {
	{"ptrace", SYS_ptrace, {16, 1}},
	{"bpf", SYS_bpf, {0}},
	{"keyctl", SYS_keyctl, {0}},
	{"mount", SYS_mount, {0}},
	{"fsopen", SYS_fsopen, {0}},
	{"setns", SYS_setns, {-1, 0}},
	{"unshare", SYS_unshare, {CLONE_NEWUSER}},
	{"namespace", SYS_clone, {CLONE_NEWUSER | SIGCHLD}},
	{"files", SYS_clone, {CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD}},
	{"kexec_load", SYS_kexec_load, {0}},
	{"open_by_handle_at", SYS_open_by_handle_at, {-1}},
	{"perf_event_open", SYS_perf_event_open, {0}},
	{"init_module", SYS_init_module, {0}},
	{"process_vm_readv", SYS_process_vm_readv, {1}},
	{"x32", X32 | SYS_getpid, {0}},
	{"clone3", SYS_clone3, {0}},
	{"io_uring_setup", SYS_io_uring_setup, {1}},
	{"vsock", SYS_socket, {AF_VSOCK, SOCK_STREAM}},
	{"unknown", 9999, {0}},
};

static void call(const char *name)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (strcmp(calls[i].name, name) == 0) {
			const long *a = calls[i].args;

			tell("makes it\n");
			hand_in();
			could("go on with it",
			      syscall(calls[i].number, a[0], a[1], a[2], a[3], a[4]));
			hand_in();
		}
}

/* --- a monitor that lies ---------------------------------------------------------------------- */

static void say(int fd, const char *text)
{
	size_t len = strlen(text);

	while (len > 0) {
		ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

		if (n <= 0)
			exit(0); /* the supervisor has had enough */
		text += n;
		len -= (size_t)n;
	}
}

static _Noreturn void until_closed(int fd)
{
	char bytes[4096];

	while (read(fd, bytes, sizeof(bytes)) > 0)
		;
	exit(0);
}

static void monitor(const char *name, int fd)
{
	static char filler[65537];

	memset(filler, strcmp(name, "deep") ? 'x' : '[', sizeof(filler) - 1);
	if (strcmp(name, "silent") == 0)
		until_closed(fd);
	if (strcmp(name, "noise") == 0) {
		say(fd, "\x1b]0;owned\a\xff\xfe{{{\n");
		until_closed(fd);
	}
	if (strcmp(name, "long") == 0 || strcmp(name, "deep") == 0)
		for (say(fd, "{\"QMP\":");;)
			say(fd, filler);
	say(fd, "{\"QMP\": {}}\n");
	if (strcmp(name, "answers") == 0) /* answers that nobody asked for */
		for (;;)
			say(fd, "{\"return\": {}, \"id\": 4242}\n");
	if (strcmp(name, "stranger") == 0)
		for (;;)
			say(fd,
			    "{\"event\": \"\\u001b[31m\\u202e\", \"data\": {\"reason\": []}}\n");
	for (;;) /* flood */
		say(fd, "{\"event\": \"SHUTDOWN\", \"data\": {\"reason\": \"guest-shutdown\"}}\n");
}

static int monitor_of(char **argv)
{
	for (; *argv; argv++) {
		const char *at = strstr(*argv, "id=qmp,fd=");

		if (at)
			return atoi(at + strlen("id=qmp,fd="));
	}
	exit(2);
}

int main(int argc, char **argv)
{
	const char *slash = strrchr(argv[0], '/');
	const char *name = slash ? slash + 1 : argv[0];

	(void)argc;
	if (strcmp(name, "vmm-look") == 0)
		look();
	else if (strncmp(name, "vmm-call-", 9) == 0)
		call(name + 9);
	else if (strncmp(name, "vmm-qmp-", 8) == 0)
		monitor(name + 8, monitor_of(argv));
	else
		return 2;
	return 0;
}
