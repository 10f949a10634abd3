/* SPDX-License-Identifier: MIT */
/*
 * A guest that attacks: root in a machine of ours, with every channel that leads out of it. Each
 * attack says on its last line what it did ("attack: what: n") and ends by itself; what the host
 * makes of it is looked at from outside (tests/e2e/test_hostile_guest.py).
 *
 *   attack control KIND COUNT   by the descriptor of the control stream, taken from the process
 * that has it: KIND is telemetry (records of COUNT), commands (COUNT execs that were not), long
 * (the same with the longest words), unknown, turn (a second hello), huge (a frame of 4 GiB),
 * garbage attack agent KIND COUNT     by the agent's listener: the next COUNT calls of the host are
 * answered by us; KIND is garbage, huge, silence, gone attack dial SEED COUNT      every CID that
 * means something and COUNT ports, streams and datagrams attack storm COUNT          COUNT
 * connections to a port that the host does not have attack frames SEED COUNT    COUNT frames by
 * AF_PACKET on the first network card: noise, and headers that are nearly right attack tree PLACE
 * COUNT     names, kinds of files and depths that a copy of the tree meets attack ports SEED COUNT
 * COUNT words to I/O ports of the machine's devices attack deaf                 stops every process
 * but init's, which cannot be stopped, and itself attack power HOW            HOW is off, reset,
 * panic
 */
#define _GNU_SOURCE
#include <sys/socket.h>

#include <linux/if_packet.h>
#include <linux/vm_sockets.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define CONTROL_PORT 1024
#define AGENT_PORT 2222
#define CLOSED_PORT 77

static void said(const char *what, unsigned long n)
{
	printf("attack: %s: %lu\n", what, n);
	fflush(stdout);
}

static _Noreturn void give_up(const char *what)
{
	perror(what);
	exit(3);
}

/* Noise that a failed run can be repeated with (xorshift64). */
static uint64_t noise_state;

static uint64_t noise(void)
{
	noise_state ^= noise_state << 13;
	noise_state ^= noise_state >> 7;
	noise_state ^= noise_state << 17;
	return noise_state;
}

static void noise_fill(unsigned char *to, size_t len)
{
	for (size_t i = 0; i < len; i++)
		to[i] = (unsigned char)noise();
}

static void noise_seed(const char *text)
{
	noise_state = strtoull(text, NULL, 10) * 2 + 1;
}

/* --- descriptors of others ------------------------------------------------------------------- */

static bool is_vsock(int fd, bool listening, unsigned port)
{
	struct sockaddr_vm at = {0};
	socklen_t len = sizeof(at), int_len = sizeof(int);
	int accepts = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &int_len) < 0 ||
	    (accepts != 0) != listening)
		return false;
	if ((listening ? getsockname(fd, (struct sockaddr *)&at, &len)
		       : getpeername(fd, (struct sockaddr *)&at, &len)) < 0)
		return false;
	return at.svm_family == AF_VSOCK && at.svm_port == port;
}

/* Of any process, which *owner is then; -1 when nobody has one. */
static int steal(bool listening, unsigned port, pid_t *owner)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		/* Init keeps the listener too, for the next agent; who serves it is another. */
		int pid = atoi(entry->d_name);
		int pidfd = pid > listening ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;

		for (int fd = 0; pidfd >= 0 && pid != getpid() && fd < 256; fd++) {
			int own = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);

			if (own >= 0 && is_vsock(own, listening, port)) {
				*owner = pid;
				return own;
			}
			if (own >= 0)
				close(own);
		}
		if (pidfd >= 0)
			close(pidfd);
	}
	errno = ENOENT;
	return -1;
}

static void wait_a_moment(void)
{
	struct timespec moment = {0, 1000000};

	nanosleep(&moment, NULL);
}

/* The descriptor shares its flags with its owner, who waits in an event loop: so do we. */
static bool send_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL);

		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			wait_a_moment();
			continue;
		}
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

/* --- the control stream ---------------------------------------------------------------------- */

static char message[256 << 10];

static bool send_frame(int fd, const char *text, size_t len)
{
	uint32_t head = htonl((uint32_t)len);

	return send_all(fd, &head, sizeof(head)) && send_all(fd, text, len);
}

/* What a terminal would obey, and a name that is longer than any other. */
#define BAD_WORDS "\\u001b]0;owned\\u0007\\u009b31m\\u202e\\r"

static size_t telemetry(unsigned long i, unsigned long *records)
{
	size_t len = (size_t)sprintf(message, "{\"type\":\"telemetry\",\"format\":1,\"records\":[");

	for (*records = 0; *records < 128; ++*records)
		len += (size_t)sprintf(message + len,
				       "%s{\"kind\":\"" BAD_WORDS
				       "\",\"at\":\"never\",\"pid\":%lu}",
				       *records ? "," : "", i + *records);
	return len + (size_t)sprintf(message + len, "]}");
}

static size_t command(unsigned long i, unsigned longest)
{
	size_t len = (size_t)sprintf(message,
				     "{\"type\":\"exec-started\",\"format\":1,\"exec\":%lu,"
				     "\"argv\":[\"" BAD_WORDS,
				     i + 1);

	memset(message + len, 'x', longest);
	len += longest;
	return len + (size_t)sprintf(message + len, "\"]}");
}

static void control_garbage(int fd, unsigned long count)
{
	unsigned char bytes[4096];
	unsigned long sent = 0;

	for (; sent < count; sent++) {
		noise_fill(bytes, sizeof(bytes));
		if (!send_all(fd, bytes, sizeof(bytes)))
			break;
	}
	said("pages of noise", sent);
}

static void control(const char *kind, unsigned long count)
{
	pid_t owner;
	int fd = steal(false, CONTROL_PORT, &owner);
	unsigned long sent = 0, records = 1;
	size_t len;

	if (fd < 0)
		give_up("the control stream");
	kill(owner, SIGSTOP); /* whose frames would lie between the halves of ours */
	if (strcmp(kind, "garbage") == 0) {
		control_garbage(fd, count);
		return;
	}
	for (; sent < count; sent += records) {
		if (strcmp(kind, "telemetry") == 0)
			len = telemetry(sent, &records);
		else if (strcmp(kind, "commands") == 0)
			len = command(sent, 0);
		else if (strcmp(kind, "long") == 0)
			len = command(sent, 2000);
		else if (strcmp(kind, "unknown") == 0)
			len = (size_t)sprintf(message, "{\"type\":\"" BAD_WORDS "\",\"format\":1}");
		else if (strcmp(kind, "turn") == 0)
			len = (size_t)sprintf(message, "{\"type\":\"ready\",\"format\":1}");
		else if (strcmp(kind, "huge") == 0)
			break;
		else
			exit(2);
		if (!send_frame(fd, message, len))
			break;
	}
	if (strcmp(kind, "huge") == 0)
		sent = send_all(fd, "\377\377\377\377{", 5);
	kill(owner, SIGCONT);
	said(kind, sent);
}

/* --- the agent's place ----------------------------------------------------------------------- */

static void answer(int peer, const char *kind)
{
	static unsigned char bytes[1 << 16];

	if (strcmp(kind, "garbage") == 0) {
		noise_fill(bytes, sizeof(bytes));
		send_all(peer, bytes, sizeof(bytes));
	} else if (strcmp(kind, "huge") == 0) {
		send_all(peer, "\377\377\377\377{", 5);
	} else if (strcmp(kind, "silence") == 0) {
		/* until the host gives up */
		while (recv(peer, bytes, sizeof(bytes), 0) > 0)
			;
	}
}

/* The agent is stopped meanwhile, or it would be first; and with it the command that we are. */
static void agent(const char *kind, unsigned long count)
{
	pid_t owner;
	int fd = steal(true, AGENT_PORT, &owner);
	unsigned long answered = 0;

	if (fd < 0)
		give_up("the agent's listener");
	kill(owner, SIGSTOP);
	while (answered < count) {
		int peer = accept4(fd, NULL, NULL, 0);

		if (peer < 0) {
			wait_a_moment();
			continue;
		}
		answer(peer, kind);
		close(peer);
		answered++;
	}
	kill(owner, SIGCONT);
	said("calls answered", answered);
}

/* --- vsock ----------------------------------------------------------------------------------- */

static int dial(int type, unsigned cid, unsigned port)
{
	struct sockaddr_vm at = {.svm_family = AF_VSOCK, .svm_cid = cid, .svm_port = port};
	struct timeval most = {.tv_sec = 2};
	int fd = socket(AF_VSOCK, type, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, AF_VSOCK, SO_VM_SOCKETS_CONNECT_TIMEOUT, &most, sizeof(most));
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Only what leads to the host counts as reached: the guest may talk to itself. */
static void dial_all(const char *seed, unsigned long count)
{
	static const unsigned cids[] = {0, 2, 4, 1000, 0x7fffffff, 0xfffffffe};
	unsigned long tried = 0, reached = 0;

	noise_seed(seed);
	for (unsigned long i = 0; i < count; i++) {
		unsigned port = i < 3000 ? (unsigned)i : (unsigned)noise();

		for (size_t k = 0; k < sizeof(cids) / sizeof(*cids); k++) {
			/* An address that nobody has costs the whole timeout. */
			if (cids[k] != 2 && i > 0)
				continue;
			int fd = dial(SOCK_STREAM, cids[k], port);

			tried++;
			if (fd >= 0) {
				reached++;
				printf("reached cid %u port %u\n", cids[k], port);
				close(fd);
			}
		}
	}
	for (unsigned port = 0; port < 100; port++) {
		int fd = dial(SOCK_SEQPACKET, 2, port);

		reached += fd >= 0;
		if (fd >= 0)
			close(fd);
	}
	said("dialled", tried);
	said("reached", reached);
}

static void storm(unsigned long count)
{
	unsigned long refused = 0;

	for (unsigned long i = 0; i < count; i++) {
		int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_NONBLOCK, 0);
		struct sockaddr_vm at = {
			.svm_family = AF_VSOCK, .svm_cid = 2, .svm_port = CLOSED_PORT};

		/* Half of them are given up before the answer is there. */
		if (fd >= 0) {
			connect(fd, (struct sockaddr *)&at, sizeof(at));
			close(fd);
		}
		fd = dial(SOCK_STREAM, 2, CLOSED_PORT);
		refused += fd < 0;
		if (fd >= 0)
			close(fd);
	}
	said("refused", refused);
}

/* --- frames ---------------------------------------------------------------------------------- */

static const unsigned short ethertypes[] = {0x0800, 0x0806, 0x86dd, 0x8100, 0x88a8, 0x0000, 0x05dc};
static const unsigned char protocols[] = {1, 2, 6, 17, 41, 47, 50, 58, 89, 132, 255};

/* IPv4 with one thing after the other wrong: length, header length, fragments, sources. */
static size_t nearly_ipv4(unsigned char *frame)
{
	size_t len = 34 + noise() % 60;

	noise_fill(frame + 14, len - 14);
	frame[14] = noise() % 4 ? 0x45 : (unsigned char)noise();
	frame[16] = 0;
	frame[17] = noise() % 4 ? (unsigned char)(len - 14) : (unsigned char)noise();
	frame[23] = protocols[noise() % sizeof(protocols)];
	if (noise() % 2)
		memcpy(frame + 30, "\x7f\0\0\1", 4); /* the host's own loopback */
	return len;
}

static void frames(const char *seed, unsigned long count)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_halen = 6};
	struct ifreq request = {.ifr_name = "eth0"};
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
	unsigned char frame[1600];
	unsigned long sent = 0;

	noise_seed(seed);
	if (fd < 0 || ioctl(fd, SIOCGIFINDEX, &request) < 0)
		give_up("eth0");
	to.sll_ifindex = request.ifr_ifindex;
	for (unsigned long i = 0; i < count; i++) {
		unsigned short type = htons(ethertypes[noise() % 7]);
		size_t len = 14 + noise() % 1500;

		noise_fill(frame, len);
		if (noise() % 2)
			memset(frame, noise() % 2 ? 0xff : 0, 6);
		if (noise() % 2) {
			type = htons(0x0800);
			len = nearly_ipv4(frame);
		}
		memcpy(frame + 12, &type, 2);
		sent += sendto(fd, frame, len, 0, (struct sockaddr *)&to, sizeof(to)) ==
			(ssize_t)len;
	}
	said("frames", sent);
}

/* --- a tree to be copied --------------------------------------------------------------------- */

static void tree_names(void)
{
	static const char *const names[] = {
		"\033]0;owned\a",
		"\n-rf",
		"\302\233"
		"31m",
		"\342\200\256txt.exe",
		"\377\376",
		"...",
		"-",
		"a\rb",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		close(open(names[i], O_CREAT | O_WRONLY, 0666));
}

static void tree_kinds(void)
{
	(void)!symlink("/etc/passwd", "absolute");
	(void)!symlink("../../../../../../etc/passwd", "upwards");
	(void)!symlink("loop", "loop");
	(void)!symlink("..", "parent");
	(void)!mkdir("parent/inside", 0777);
	mkfifo("fifo", 0666);
	mknod("zero", S_IFCHR | 0666, 0x105);
	mknod("disk", S_IFBLK | 0666, 0xfe00);
	close(open("setuid", O_CREAT | O_WRONLY, 0777));
	chmod("setuid", 06777);
	(void)!link("setuid", "hard");
	int sparse = open("sparse", O_CREAT | O_WRONLY, 0666);
	(void)!ftruncate(sparse, (off_t)1 << 33);
	close(sparse);
}

static void tree(const char *place, unsigned long count)
{
	char name[256];
	unsigned long deep = 0;

	if (mkdir(place, 0777) < 0 || chdir(place) < 0)
		give_up(place);
	tree_names();
	tree_kinds();
	for (unsigned long i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "file-%lu", i);
		close(open(name, O_CREAT | O_WRONLY, 0666));
	}
	memset(name, 'd', 200);
	name[200] = '\0';
	while (deep < count && mkdir(name, 0777) == 0 && chdir(name) == 0)
		deep++;
	said("deep", deep);
}

/* --- the machine ----------------------------------------------------------------------------- */

/* Devices that a PC has and a microvm may have: PIC, PIT, keyboard controller, RTC, DMA, fw_cfg,
 * PCI's configuration, ACPI. Not the reset port, which has an attack of its own. */
static const unsigned short ioports[] = {
	0x20,  0x21,  0x40,  0x43,  0x60,  0x61,  0x70,	 0x71,	0x80,  0x92,  0xa0,  0xa1,  0x3f8,
	0x3f9, 0x402, 0x510, 0x511, 0x514, 0x600, 0x604, 0x608, 0xcf8, 0xcfc, 0xcfe, 0xae00};

static void ports(const char *seed, unsigned long count)
{
	noise_seed(seed);
	if (iopl(3) < 0)
		give_up("iopl");
	for (unsigned long i = 0; i < count; i++) {
		unsigned short port = ioports[noise() % (sizeof(ioports) / sizeof(*ioports))];

		switch (noise() % 3) {
		case 0:
			outb((unsigned char)(noise() & 0xde), port);
			break;
		case 1:
			(void)inl(port);
			break;
		default:
			if (port >= 0x500)
				outl((unsigned)noise() & ~0x2000u, port);
		}
	}
	said("words to ports", count);
}

static void deaf(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	unsigned long stopped = 0;

	while (proc && (entry = readdir(proc))) {
		int pid = atoi(entry->d_name);

		if (pid > 1 && pid != getpid())
			stopped += kill(pid, SIGSTOP) == 0;
	}
	for (;;)
		pause();
}

static void power(const char *how)
{
	int trigger;

	sync();
	if (strcmp(how, "panic") == 0) {
		trigger = open("/proc/sysrq-trigger", O_WRONLY);
		(void)!write(trigger, "c", 1);
	}
	reboot(strcmp(how, "off") == 0 ? RB_POWER_OFF : RB_AUTOBOOT);
	give_up(how);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned long count = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;

	noise_seed("1");
	if (argc == 4 && strcmp(what, "control") == 0)
		control(argv[2], count);
	else if (argc == 4 && strcmp(what, "agent") == 0)
		agent(argv[2], count);
	else if (argc == 4 && strcmp(what, "dial") == 0)
		dial_all(argv[2], count);
	else if (argc == 3 && strcmp(what, "storm") == 0)
		storm(strtoul(argv[2], NULL, 10));
	else if (argc == 4 && strcmp(what, "frames") == 0)
		frames(argv[2], count);
	else if (argc == 4 && strcmp(what, "tree") == 0)
		tree(argv[2], count);
	else if (argc == 4 && strcmp(what, "ports") == 0)
		ports(argv[2], count);
	else if (argc == 2 && strcmp(what, "deaf") == 0)
		deaf();
	else if (argc == 3 && strcmp(what, "power") == 0)
		power(argv[2]);
	else
		return 2;
	return 0;
}
