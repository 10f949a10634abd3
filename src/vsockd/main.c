/* SPDX-License-Identifier: MIT */
/* microagent-vsockd: opens all descriptors, isolates itself, and serves one guest. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "vsockd/daemon.h"
#include "vsockd/isolate.h"
#include "vsockd/listener.h"
#include "vsockd/options.h"

#define PROGRAM "microagent-vsockd"
/* The number of descriptors that the program needs in addition to the descriptors of streams: the
 * standard streams, epoll, the listeners, the link, the rings, descriptors in messages, and the
 * sockets of listed ports (isolate.c). */
#define OTHER_DESCRIPTORS UINT64_C(96)

static const char capabilities[] =
	"{\"type\":\"vsock\",\"features\":[],\"hostSocket\":\"hybrid\","
	"\"options\":[\"vhost-fd\",\"port-fd\",\"link-fd\",\"vsock-fd\",\"guest-cid\",\"host-"
	"port\",\"lease-fd\",\"busy-fd\",\"unconfined\"]}";

#ifdef MICROAGENT_SANITIZE
/* Switches the leak checker off. The checker needs /proc, which the program does not have, and
 * after the start nothing is allocated that could leak. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

struct opened {
	struct daemon_face face;
	int vsock_listen;
};

static int open_all(const struct options *o, struct opened *opened, struct error *err)
{
	*opened = (struct opened){{.vhost_fd = o->vhost_fd,
				   .vhost_listen = -1,
				   .port_fd = o->port_fd,
				   .port_listen = o->link_fd},
				  o->vsock_fd};
	if (o->vhost_socket &&
	    (opened->face.vhost_listen = listener_open(o->vhost_socket, err)) < 0)
		return error_prefix(err, "--vhost-socket");
	if (o->vsock_socket && (opened->vsock_listen = listener_open(o->vsock_socket, err)) < 0)
		return error_prefix(err, "--vsock-socket");
	if (o->vhost_fd >= 0 && listener_check(o->vhost_fd, false, err) < 0)
		return error_prefix(err, "--vhost-fd %d", o->vhost_fd);
	if (o->port_fd >= 0 && listener_check(o->port_fd, false, err) < 0)
		return error_prefix(err, "--port-fd %d", o->port_fd);
	if (o->link_fd >= 0 && listener_check(o->link_fd, true, err) < 0)
		return error_prefix(err, "--link-fd %d", o->link_fd);
	if (o->vsock_fd >= 0 && listener_check(o->vsock_fd, true, err) < 0)
		return error_prefix(err, "--vsock-fd %d", o->vsock_fd);
	return 0;
}

/* Raises the limit of open files. Returns how many streams this limit allows, at most
 * LIMIT_VSOCK_STREAMS. */
static unsigned allow_streams(void)
{
	uint64_t streams = limit_get(LIMIT_VSOCK_STREAMS), files;

	if (streams > STREAM_TABLE_MAX)
		streams = STREAM_TABLE_MAX;
	files = fd_raise_limit(streams + OTHER_DESCRIPTORS);
	if (files < streams + OTHER_DESCRIPTORS) {
		streams = files > 2 * OTHER_DESCRIPTORS ? files - OTHER_DESCRIPTORS : files / 2;
		fprintf(stderr, PROGRAM ": the limit of %llu open files allows %llu streams\n",
			(unsigned long long)files, (unsigned long long)streams);
	}
	return (unsigned)streams;
}

static int give_up_rights(const struct options *o, struct error *err)
{
	struct isolate_config c = {.identity = o->identity,
				   .unconfined = o->unconfined,
				   .ports = o->ports,
				   .targets = (const char *const *)o->targets,
				   .nports = o->nports};
	struct error no_namespaces;

	if (isolate(&c, &no_namespaces, err) < 0)
		return -1;
	if (no_namespaces.code != ERR_NONE)
		fprintf(stderr, PROGRAM ": %s; confined by seccomp alone\n", no_namespaces.msg);
	for (unsigned i = 0; i < o->nports; i++)
		if (!*o->ports[i].path)
			fprintf(stderr,
				PROGRAM
				": host port %u: there is no socket %s; the guest's connections to it will be reset\n",
				o->ports[i].port, o->targets[i]);
	malloc_trim(0);
	return isolate_to_loop(err);
}

static int run_vsockd(const struct options *o, struct error *err)
{
	static struct daemon daemon;
	static struct log log;
	struct opened opened;
	int keep[] = {o->vhost_fd, o->port_fd, o->link_fd, o->vsock_fd, o->lease_fd, o->busy_fd};

	if (o->help || o->version || o->capabilities) {
		if (o->help)
			options_help();
		else
			puts(o->version ? PROGRAM " " MICROAGENT_VERSION : capabilities);
		return 0;
	}
	fd_close_others(keep, ARRAY_SIZE(keep));
	if (open_all(o, &opened, err) < 0)
		return -1;
	log_init(&log, STDERR_FILENO, 0);
	struct core_config config = {
		.guest_cid = o->guest_cid,
		.streams = allow_streams(),
		.stream_bytes = (uint32_t)limit_get(LIMIT_VSOCK_STREAM_BYTES),
		.line_ns = limit_get(LIMIT_VSOCK_LINE_MS) * NS_PER_MS,
		.answer_ns = limit_get(LIMIT_VSOCK_ANSWER_MS) * NS_PER_MS,
		.close_ns = limit_get(LIMIT_VSOCK_CLOSE_MS) * NS_PER_MS,
		.ports = o->ports,
		.nports = o->nports,
		.listen_fd = opened.vsock_listen,
	};
	if (daemon_init(&daemon, &config, &opened.face, &log, err) < 0 ||
	    give_up_rights(o, err) < 0)
		return -1;
	daemon_tell_busy(&daemon, o->busy_fd);
	return daemon_run(&daemon, err);
}

int main(int argc, char **argv)
{
	struct error err = {0};
	struct options options;

	signal(SIGPIPE, SIG_IGN);
	if (fd_fill_standard(&err) < 0 || options_parse(&options, argc, argv, &err) < 0 ||
	    run_vsockd(&options, &err) < 0) {
		fprintf(stderr, PROGRAM ": %s\n", err.msg);
		return err.code == ERR_UNAVAILABLE ? EX_TEMPFAIL : 1;
	}
	return 0;
}
