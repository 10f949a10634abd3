/* SPDX-License-Identifier: MIT */
/*
 * The agent: the control stream to the host, the server on port 2222, and the order of events. The
 * agent touches the machine only through struct machine, so that tests can run the real agent on a
 * stream of their own.
 */
#ifndef GUEST_AGENT_H
#define GUEST_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/framed.h"
#include "base/loop.h"
#include "guest/agent/config.h"
#include "guest/agent/exec_report.h"
#include "guest/agent/server.h"
#include "guest/agent/telemetry.h"
#include "guest/agent/watched_ports.h"

struct machine {
	int (*set_hostname)(const char *name, struct error *err);
	/* Sets the clock. Small corrections are left out unless exact is set. */
	void (*set_time)(int64_t realtime_ns, bool exact);
	/* Gives a restored machine a new identity. *more: attach() still has to do a part of
	 * that. */
	int (*renew)(const struct config_renew *renew, bool *more, struct error *err);
	/* Mounts what the config names, after what renew() has left. It may block, so it runs in a
	 * child process. */
	int (*attach)(json_t *config, struct error *err);
	/* Makes the machine's files fit to be saved and writes them back. It may block like
	 * attach(). */
	int (*quiesce)(json_t *unused, struct error *err);
	/* Opens the config's published ports to the host. mux is the way to the host; NULL for
	 * vsock. */
	int (*publish)(struct loop *loop, struct mux *mux, const json_t *publishes, int program_fd,
		       struct error *err);
	/* Finds the ports at which servers listen, and the events that say when to look again:
	 * listening.h. */
	int (*listening)(struct port_set *out, struct error *err);
	struct listening_events *(*listening_events)(struct error *err);
	/* Sends `out` records of what is done on the machine: tracer_run(). */
	void (*trace)(int out);
	/* Asks PID 1 to end the machine. */
	void (*power_off)(void *data);
	void (*log)(const char *text);
};
extern const struct machine machine_real;

struct agent {
	struct loop *loop;
	const struct machine *machine;
	void *machine_data;
	struct server server;
	struct framed control; /* fd -1: there is none, or it has ended */
	struct exec_report report;
	struct watched_ports ports;
	struct guest_config config;
	bool configured;
	bool back;		    /* restored: a config must make it another machine */
	struct apply *apply;	    /* the child that mounts, or that writes back */
	struct telemetry telemetry; /* zeroed: the config does not ask for telemetry */
	bool applied;
	bool stopping;
	bool told_late; /* a result was sent after stopping began: wait until it is read */
	bool farewell;	/* all has ended or been killed: only last messages are waited for */
	struct loop_watch *deadline;
	bool done;
};

int agent_init(struct agent *agent, struct loop *loop, const struct machine *machine,
	       void *machine_data, const char *etc, const char *cgroup_mount, int program_fd,
	       struct error *err);
/* Begins the control stream and says hello. fd is connected to the host; it is taken over. */
int agent_control(struct agent *agent, int fd, struct error *err);
void agent_control_carried(struct agent *agent, struct mux_stream *stream);
/* Handles a new host. Returns true if the machine is a new one too, because it had been saved: the
 * control stream must then be dialled anew, and there the agent says that the machine was
 * restored. */
bool agent_is_back(struct agent *agent);
/* Ends what runs within the grace time, and then sets done. To be called when all processes have
 * had their SIGTERM. */
void agent_stop(struct agent *agent);
/* To be called after every round of the loop. */
void agent_settle(struct agent *agent);
void agent_free(struct agent *agent);

#endif
