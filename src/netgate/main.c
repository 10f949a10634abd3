/* SPDX-License-Identifier: MIT */
/* microagent-netgate: takes its sockets, gives up its rights, and filters frames until the VMM or
 * passt ends. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sysexits.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "netgate/confine.h"
#include "netgate/gate.h"
#include "netgate/packet.h"
#include "netgate/relay.h"
#include "netgate/settings.h"

#define PROGRAM "microagent-netgate"
/* The size in bytes of a socket buffer for which netgate asks the kernel; the host's administrator
 * may allow less. The buffer has room for several long writes. The buffer is not larger, so that
 * waiting bytes are still in the processor's cache when the receiving process reads them. With 4
 * MiB a fifth of the throughput is lost. */
#define SOCKET_BYTES (512 << 10)

#ifdef MICROAGENT_SANITIZE
/* Switches the leak checker off. The checker needs /proc, which netgate does not have, and netgate
 * allocates nothing after its start. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

static struct gate gate;

/* Makes the send buffer of a socket larger, so that one system call can write more frames. */
static void widen(int fd)
{
	int bytes = SOCKET_BYTES;

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

static int check_socket(int fd, int wanted, const char *name, struct error *err)
{
	int type = 0;
	socklen_t len = sizeof(type);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || type != wanted)
		return error_set(
			err, ERR_INVALID,
			"%s must be given a socket of another kind than descriptor %d is: this is a bug of the program that starts microagent-netgate",
			name, fd);
	return 0;
}

static int take_sockets(const struct settings *s, struct error *err)
{
	int keep[] = {s->vm_fd, s->passt_fd, s->supervisor_fd, s->lease_fd, s->bridge_fd};

	fd_close_others(keep, ARRAY_SIZE(keep));
	if (s->bridge_fd >= 0) {
		if (!packet_is(s->vm_fd))
			return error_set(
				err, ERR_INVALID,
				"--vm-fd must be given a packet socket when --bridge-fd is given, and descriptor %d is not a packet socket: this is a bug of the program that starts microagent-netgate",
				s->vm_fd);
		widen(s->vm_fd);
		return 0;
	}
	if ((!packet_is(s->vm_fd) && check_socket(s->vm_fd, SOCK_STREAM, "--vm-fd", err) < 0) ||
	    check_socket(s->supervisor_fd, SOCK_SEQPACKET, "--supervisor-fd", err) < 0 ||
	    (s->passt_fd >= 0 && check_socket(s->passt_fd, SOCK_STREAM, "--passt-fd", err) < 0))
		return -1;
	widen(s->vm_fd);
	widen(s->passt_fd);
	return 0;
}

static int run_netgate(const struct settings *s, struct error *err)
{
	struct error no_namespaces;

	if (s->help) {
		settings_help();
		return 0;
	}
	if (s->version) {
		puts(PROGRAM " " MICROAGENT_VERSION);
		return 0;
	}
	if (take_sockets(s, err) < 0)
		return -1;
	if (getrandom(&gate.flows.seed, sizeof(gate.flows.seed), 0) < 0)
		return error_set(
			err, ERR_IO,
			"the kernel gives microagent-netgate no random bytes, which it needs to look up names: check that the host's kernel is complete");
	gate_init(&gate, s->vm_fd, s->passt_fd, s->supervisor_fd, s->bytes_per_second);
	malloc_trim(0);
	if (confine(&s->identity, s->unconfined, &no_namespaces, err) < 0)
		return -1;
	/* From this point on netgate prints messages by stdio and not by dprintf(). dprintf() calls
	 * lseek(), for which the system call filter would kill this process. */
	if (no_namespaces.code != ERR_NONE)
		fprintf(stderr, PROGRAM ": %s; confined by seccomp alone\n", no_namespaces.msg);
	return s->bridge_fd >= 0 ? relay_run(s->vm_fd, s->bridge_fd, err) : gate_run(&gate, err);
}

int main(int argc, char **argv)
{
	struct error err = {0};
	struct settings settings = {.vm_fd = -1,
				    .passt_fd = -1,
				    .bridge_fd = -1,
				    .supervisor_fd = -1,
				    .lease_fd = -1,
				    .screen = &gate.screen,
				    .egress = &gate.egress};

	signal(SIGPIPE, SIG_IGN);
	if (fd_fill_standard(&err) < 0 || settings_parse(&settings, argc, argv, &err) < 0 ||
	    run_netgate(&settings, &err) < 0) {
		fprintf(stderr, PROGRAM ": %s\n", err.msg);
		return err.code == ERR_UNAVAILABLE ? EX_TEMPFAIL : 1;
	}
	return 0;
}
