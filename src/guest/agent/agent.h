/* SPDX-License-Identifier: MIT */
/*
 * The agent has the control stream to the host and the server on port 2222, and decides what
 * happens in which order. The agent uses the machine only through struct machine. So tests can run
 * the real agent with a control stream and a machine of the test.
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
	/* Sets the clock. If `exact` is false, a small difference between the clock and
	 * `realtime_ns` is not corrected. */
	void (*set_time)(int64_t realtime_ns, bool exact);
	/* Gives a restored machine a new identity. Sets *more to true if attach() must do a part of
	 * this work. */
	int (*renew)(const struct config_renew *renew, bool *more, struct error *err);
	/* Finishes the work of renew() if renew() has set *more, and then mounts the disks and
	 * shares of the config. This function may block, so it runs in a child process. */
	int (*attach)(json_t *config, struct error *err);
	/* Prepares the machine's files for a save, and writes changed data to the disks. This
	 * function may block, so it runs in a child process. */
	int (*quiesce)(json_t *unused, struct error *err);
	/* Lets the host connect to the config's published ports, through the mux. If `mux` is NULL,
	 * the host connects through vsock. */
	int (*publish)(struct loop *loop, struct mux *mux, const json_t *publishes, int program_fd,
		       struct error *err);
	/* listening() finds the ports on which servers listen. listening_events() opens a source of
	 * events, which say that these ports may have changed (listening.h). */
	int (*listening)(struct port_set *out, struct error *err);
	struct listening_events *(*listening_events)(struct error *err);
	/* Traces the programs of the machine, and writes the records to the file descriptor `out`
	 * (see tracer_run()). */
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
	/* The control stream to the host. The stream's fd is -1 if the stream was never opened, or
	 * if it has ended. */
	struct framed control;
	struct exec_report report;
	struct watched_ports ports;
	struct guest_config config;
	bool configured;
	bool back; /* the machine was restored, and the agent waits for a config with `renew` */
	/* The child process that mounts the disks and shares, or writes changed data back. */
	struct apply *apply;
	struct telemetry telemetry; /* all members are 0 if the config does not ask for telemetry */
	bool applied;
	bool stopping;
	/* A result was sent after agent_stop() was called. The host must read this result before
	 * the agent exits. */
	bool told_late;
	bool farewell; /* all commands have exited, and only the last messages must still be sent */
	struct loop_watch *deadline;
	/* The timer that lets frozen commands continue if the host sends no message to do so
	 * (saved.c). */
	struct loop_watch *rest_timer;
	bool done;
};

int agent_init(struct agent *agent, struct loop *loop, const struct machine *machine,
	       void *machine_data, const char *etc, const char *cgroup_mount, int program_fd,
	       struct error *err);
/* Starts the control stream and sends `hello`. Takes ownership of `fd`, which is connected to the
 * host. */
int agent_control(struct agent *agent, int fd, struct error *err);
void agent_control_carried(struct agent *agent, struct mux_stream *stream);
/* Called when another process of the host serves the machine. Returns true if the machine was saved
 * and restored. The caller must then dial a new control stream, so that the agent can report the
 * restore. */
bool agent_is_back(struct agent *agent);
/* Gives the running commands time to exit, kills those that still run after that time, and then
 * sets agent->done. Called when PID 1 has sent SIGTERM to all processes. */
void agent_stop(struct agent *agent);
/* Does the work that can be done only between two rounds of the event loop. Must be called after
 * every round. */
void agent_settle(struct agent *agent);
void agent_free(struct agent *agent);

#endif
