/* SPDX-License-Identifier: MIT */
/*
 * The agent: the control stream to the host, the server on port 2222, and the order of events. The
 * agent touches the machine only through struct machine. So tests can run the real agent with a
 * stream and a machine that they have made themselves.
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
	/* Sets the clock. If `exact` is false, a small difference is not corrected. */
	void (*set_time)(int64_t realtime_ns, bool exact);
	/* Gives a restored machine a new identity. Sets *more to true if a part of this work is
	 * left for attach(). */
	int (*renew)(const struct config_renew *renew, bool *more, struct error *err);
	/* Does the work that renew() has left, and then mounts the disks and shares of the config.
	 * This function may block, so it runs in a child process. */
	int (*attach)(json_t *config, struct error *err);
	/* Makes the machine's files fit to be saved, and writes changed data to the disks. This
	 * function may block, so it runs in a child process. */
	int (*quiesce)(json_t *unused, struct error *err);
	/* Opens the config's published ports to the host: through the mux, or through vsock if
	 * `mux` is NULL. */
	int (*publish)(struct loop *loop, struct mux *mux, const json_t *publishes, int program_fd,
		       struct error *err);
	/* listening() finds the ports at which servers listen. listening_events() opens the events
	 * that tell when these ports may have changed (listening.h). */
	int (*listening)(struct port_set *out, struct error *err);
	struct listening_events *(*listening_events)(struct error *err);
	/* Traces the programs of the machine, and writes the records to `out` (tracer_run()). */
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
	/* The control stream. Its fd is -1 if there is no control stream, or if the stream has
	 * ended. */
	struct framed control;
	struct exec_report report;
	struct watched_ports ports;
	struct guest_config config;
	bool configured;
	bool back; /* the machine was restored, and waits for a config with `renew` */
	/* The child process that mounts the disks and shares, or writes changed data back. */
	struct apply *apply;
	struct telemetry telemetry; /* all members are 0 if the config does not ask for telemetry */
	bool applied;
	bool stopping;
	/* A result was sent after agent_stop(), and the host must read it before the agent ends. */
	bool told_late;
	bool farewell; /* all commands have ended, and only the last messages must still be sent */
	struct loop_watch *deadline;
	/* The timer that thaws frozen commands if the host does not (saved.c). */
	struct loop_watch *rest_timer;
	bool done;
};

int agent_init(struct agent *agent, struct loop *loop, const struct machine *machine,
	       void *machine_data, const char *etc, const char *cgroup_mount, int program_fd,
	       struct error *err);
/* Begins the control stream and sends `hello`. Takes over `fd`, which is connected to the host. */
int agent_control(struct agent *agent, int fd, struct error *err);
void agent_control_carried(struct agent *agent, struct mux_stream *stream);
/* Called when a new host serves the machine. Returns true if the machine was saved and restored.
 * The caller must then dial a new control stream, so that the agent can report the restore. */
bool agent_is_back(struct agent *agent);
/* Gives the running commands time to end, kills the commands that are left, and then sets
 * agent->done. Called when PID 1 has sent SIGTERM to all processes. */
void agent_stop(struct agent *agent);
/* Does the work that waits for the end of a round of the loop. Must be called after every round. */
void agent_settle(struct agent *agent);
void agent_free(struct agent *agent);

#endif
