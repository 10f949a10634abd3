/* SPDX-License-Identifier: MIT */
/* The server of the agent on port 2222. The server accepts and counts connections, and owns the
 * state that connections share. */
#ifndef GUEST_SERVER_H
#define GUEST_SERVER_H

#include "base/loop.h"
#include "guest/agent/conn.h"
#include "guest/agent/exec.h"
#include "guest/agent/mux.h"
#include "guest/agent/resumable.h"
#include "guest/agent/workload.h"

struct server {
	struct loop *loop;
	struct exec_context context;
	struct workload workload;
	struct resumables resumables;
	int listen_fd; /* the listening socket; -1: there is none */
	struct loop_watch *listen_watch;
	struct mux *mux; /* the mux through which the server listens; NULL: there is none */
	struct mux_listener mux_listener;
	/* No file descriptor was free for a connection, and no connection or job has ended since
	 * then. */
	bool full;
	size_t full_jobs; /* how many commands ran when `full` was set */
	/* The largest number of commands that ran at the same time since the agent last called
	 * malloc_trim(). */
	size_t most_jobs;
	struct conns conns;
};

int server_init(struct server *server, struct loop *loop, const char *etc, const char *cgroup_mount,
		int program_fd, struct error *err);
/* Accepts connections on `fd`, which is a non-blocking listening vsock socket. The caller must
 * close `fd`. Connections are accepted only from the host. */
int server_listen(struct server *server, int fd, struct error *err);
/* Listens through the mux. The caller must free the mux. */
void server_listen_carried(struct server *server, struct mux *mux);
/* Serves a client on a connected stream socket of any kind. Takes ownership of `fd`. */
int server_adopt(struct server *server, int fd, struct error *err);
/* Frees connections and jobs that have ended. Must be called between two rounds of the event
 * loop. */
void server_sweep(struct server *server);
void server_stop_listening(struct server *server);
/* Listens through the mux again, after server_stop_listening(). */
void server_listen_again(struct server *server);
void server_free(struct server *server);

#endif
