/* SPDX-License-Identifier: MIT */
/*
 * microagent-vsockd as a part of the process that loads it, since Firecracker's vsock device is a
 * part of Firecracker: the sockets of the host are the VMM's own descriptors. The isolation of the
 * daemon is left out: this code is in the VMM's cell, under the VMM's list of system calls.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/qemu/tsc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "vsockd/daemon.h"

#define STREAMS 1023 /* most streams of Firecracker's vsock, by its documentation */
#define PUBLIC __attribute__((visibility("default")))

PUBLIC int standin_vsock(int vhost_fd, int listen_fd, unsigned guest_cid,
			 const struct host_port *ports, unsigned nports);
PUBLIC unsigned standin_tsc_khz(void);

/* Serves until the front-end has gone. Returns 0 then. Returns -1 with the reason on stderr if it
 * fails. */
int standin_vsock(int vhost_fd, int listen_fd, unsigned guest_cid, const struct host_port *ports,
		  unsigned nports)
{
	static struct daemon daemon;
	static struct log log;
	struct error err = {0};
	struct core_config config = {
		.guest_cid = guest_cid,
		.streams = STREAMS,
		.stream_bytes = (uint32_t)limit_get(LIMIT_VSOCK_STREAM_BYTES),
		.line_ns = limit_get(LIMIT_VSOCK_LINE_MS) * NS_PER_MS,
		.answer_ns = limit_get(LIMIT_VSOCK_ANSWER_MS) * NS_PER_MS,
		.close_ns = limit_get(LIMIT_VSOCK_CLOSE_MS) * NS_PER_MS,
		.ports = ports,
		.nports = nports,
		.listen_fd = listen_fd,
	};

	log_init(&log, STDERR_FILENO, 0);
	if (daemon_init(&daemon, &config, &(struct daemon_face){vhost_fd, -1, -1, -1}, &log, &err) <
		    0 ||
	    daemon_run(&daemon, &err) < 0) {
		fprintf(stderr, "vsock: %s\n", err.msg);
		return -1;
	}
	return 0;
}

unsigned standin_tsc_khz(void)
{
	return tsc_measure_khz();
}
