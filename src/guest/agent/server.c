/* SPDX-License-Identifier: MIT */
#include "guest/agent/server.h"

#include <sys/socket.h> /* <sys/socket.h> must come first, since vm_sockets.h needs it */

#include <linux/vm_sockets.h>

#include <ctype.h>
#include <errno.h>
#include <malloc.h>
#include <unistd.h>

#include "base/agent_wire.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "guest/agent/envelopes.h"
#include "guest/agent/frames.h"

#define MANY_JOBS 64

/* Chooses the form of a connection by its first byte. In the frame form this byte is the first byte
 * of a length. The first byte of an envelope, if it is read as the first byte of a length, means a
 * length above the limit. So the forms cannot be confused. */
static bool choose_form(struct conn *conn)
{
	uint8_t first;

	if (conn->wire.in.len == 0)
		return false;
	first = *buf_bytes(&conn->wire.in);
	conn_set_form(conn, first == '{' || isspace(first) ? &envelopes_form : &frames_form);
	return true;
}

static const struct conn_form unknown_form = {
	.most = LIMIT_FRAME_BYTES,
	.send = framed_send,
	.step = choose_form,
};

int server_init(struct server *server, struct loop *loop, const char *etc, const char *cgroup_mount,
		int program_fd, struct error *err)
{
	*server = (struct server){.loop = loop, .listen_fd = -1};
	if (job_table_init(&server->context.jobs, loop, cgroup_mount, err) < 0)
		return -1;
	containers_init(&server->context.containers, &server->context.jobs);
	server->context.etc = etc;
	server->context.program_fd = program_fd;
	server->workload.context = &server->context;
	resumables_init(&server->resumables, &server->context);
	conns_init(&server->conns, loop, &unknown_form);
	server->conns.context = &server->context;
	server->conns.workload = &server->workload;
	server->conns.resumables = &server->resumables;
	return 0;
}

int server_adopt(struct server *server, int fd, struct error *err)
{
	if (server->conns.count >= limit_get(LIMIT_AGENT_CONNECTIONS)) {
		close(fd);
		return error_set(
			err, ERR_UNAVAILABLE,
			"the guest's agent already has %llu connections, which is the limit: close some of them first",
			(unsigned long long)limit_get(LIMIT_AGENT_CONNECTIONS));
	}
	if (!conn_new(&server->conns, fd, err)) {
		close(fd);
		return -1;
	}
	return 0;
}

/* Accepts only the host as a client. Refuses a program in the guest, which could connect to the
 * port through vsock's loopback. */
static void on_vsock_client(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct server *server = data;
	struct sockaddr_vm peer = {0};
	socklen_t len = sizeof(peer);
	int accepted = accept4(fd, (struct sockaddr *)&peer, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

	(void)loop;
	(void)events;
	if (accepted < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
		server->full = true;
		server->full_jobs = server->context.jobs.count;
		loop_set_events(server->listen_watch, 0, NULL);
	}
	if (accepted < 0)
		return;
	if (peer.svm_family == AF_VSOCK && peer.svm_cid == VMADDR_CID_HOST)
		server_adopt(server, accepted, NULL);
	else
		close(accepted);
}

int server_listen(struct server *server, int fd, struct error *err)
{
	server->listen_watch = loop_add_fd(server->loop, fd, LOOP_IN, on_vsock_client, server, err);
	if (!server->listen_watch)
		return -1;
	server->listen_fd = fd;
	return 0;
}

static void on_mux_client(void *data, struct mux_stream *stream)
{
	struct server *server = data;

	if (server->conns.count >= limit_get(LIMIT_AGENT_CONNECTIONS) ||
	    !conn_new_carried(&server->conns, stream, NULL))
		mux_carrier.close(stream);
}

void server_listen_carried(struct server *server, struct mux *mux)
{
	server->mux_listener =
		(struct mux_listener){.port = AGENT_PORT, .accept = on_mux_client, .data = server};
	server->mux = mux;
	server_listen_again(server);
}

void server_listen_again(struct server *server)
{
	if (server->mux && !list_has(&server->mux_listener.link))
		mux_listen(server->mux, &server->mux_listener);
}

void server_stop_listening(struct server *server)
{
	list_remove(&server->mux_listener.link);
	loop_remove(steal_ptr(&server->listen_watch));
}

void server_sweep(struct server *server)
{
	bool ended = !list_is_empty(&server->conns.dead) ||
		     server->context.jobs.count < server->full_jobs;

	conns_sweep(&server->conns);
	resumables_sweep(&server->resumables);
	job_table_sweep(&server->context.jobs);
	/* Gives memory back to the kernel after many commands. free() alone gives back only memory
	 * above the last used block of the heap. So one small block could keep the memory of
	 * hundreds of commands from the kernel. */
	if (server->most_jobs < server->context.jobs.count)
		server->most_jobs = server->context.jobs.count;
	if (server->most_jobs >= MANY_JOBS && server->context.jobs.count == 0) {
		server->most_jobs = 0;
		malloc_trim(0);
	}
	/* Accepts connections again only after a connection or job has ended. Before that no file
	 * descriptor is free, and the event loop would report the waiting connections again and
	 * again. */
	if (ended && server->full && server->listen_watch) {
		server->full = false;
		loop_set_events(server->listen_watch, LOOP_IN, NULL);
	}
}

void server_free(struct server *server)
{
	server_stop_listening(server);
	conns_end(&server->conns);
	resumables_free(&server->resumables);
	job_table_free(&server->context.jobs);
	workload_free(&server->workload);
	json_decref(server->context.env);
	server_sweep(server);
}
