/* SPDX-License-Identifier: MIT */
/* The agent's side of port 2222: accepts, keeps count, and owns what its connections share. */
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
	bool full;	  /* no descriptor for another connection: until something has ended */
	size_t full_jobs; /* commands that lived then */
	size_t most_jobs; /* at once, since memory was given back */
	struct conns conns;
};

int server_init(struct server *server, struct loop *loop, const char *etc, const char *cgroup_mount,
		int program_fd, struct error *err);
/* fd: a listening vsock socket, non-blocking; stays the caller's. Only the host may connect. */
int server_listen(struct server *server, int fd, struct error *err);
/* The same by a mux, which is the caller's. */
void server_listen_carried(struct server *server, struct mux *mux);
/* Serves an accepted stream socket, whichever way it came; takes over fd. */
int server_adopt(struct server *server, int fd, struct error *err);
/* Frees what has ended; between rounds of the loop. */
void server_sweep(struct server *server);
void server_stop_listening(struct server *server);
/* By the mux, after a stop. */
void server_listen_again(struct server *server);
void server_free(struct server *server);

#endif
