/* SPDX-License-Identifier: MIT */
/* The agent's side of port 2222: accepts and counts connections, and owns the state that
 * connections share. */
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
	int listen_fd; /* -1: none */
	struct loop_watch *listen_watch;
	struct mux *mux; /* NULL: none */
	struct mux_listener mux_listener;
	bool full; /* no descriptor is left for a connection, until a connection or job ends */
	size_t full_jobs; /* the number of commands when `full` was set */
	size_t most_jobs; /* the most commands at a time since memory was last given back */
	struct conns conns;
};

int server_init(struct server *server, struct loop *loop, const char *etc, const char *cgroup_mount,
		int program_fd, struct error *err);
/* Listens at `fd`, a listening vsock socket, non-blocking, which the caller keeps. Only the host
 * may connect. */
int server_listen(struct server *server, int fd, struct error *err);
/* Listens through a mux, which the caller keeps. */
void server_listen_carried(struct server *server, struct mux *mux);
/* Serves an accepted stream socket of any kind; takes over `fd`. */
int server_adopt(struct server *server, int fd, struct error *err);
/* Frees connections and jobs that have ended. Must be called between rounds of the loop. */
void server_sweep(struct server *server);
void server_stop_listening(struct server *server);
/* Listens through the mux again, after a stop. */
void server_listen_again(struct server *server);
void server_free(struct server *server);

#endif
