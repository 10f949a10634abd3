/* SPDX-License-Identifier: MIT */
/*
 * The agent: the control stream to the host, the server on port 2222, and the order of things.
 * Where it touches the machine it goes through struct machine, so that tests run the very agent on
 * a stream of their own.
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
	/* Small steps are left out, unless it is to be exact. */
	void (*set_time)(int64_t realtime_ns, bool exact);
	/* Makes a machine that was restored another one. *more: attach() has yet to do a part. */
	int (*renew)(const struct config_renew *renew, bool *more, struct error *err);
	/* Mounts what the config has, behind what renew() has left; may block, so it is called in a
	 * child of its own. */
	int (*attach)(json_t *config, struct error *err);
	/* Makes the machine's files fit to be saved, and writes them back; as attach(). */
	int (*quiesce)(json_t *unused, struct error *err);
	/* Opens the config's published ports to the host; mux: the way to it, NULL for vsock. */
	int (*publish)(struct loop *loop, struct mux *mux, const json_t *publishes, int program_fd,
		       struct error *err);
	/* At which ports servers listen, and what tells that it may be different: listening.h. */
	int (*listening)(struct port_set *out, struct error *err);
	struct listening_events *(*listening_events)(struct error *err);
	/* Tells `out` what is done on the machine: tracer_run(). */
	void (*trace)(int out);
	/* Asks PID 1 for the end of the machine. */
	void (*power_off)(void *data);
	void (*log)(const char *text);
};
extern const struct machine machine_real;

struct agent {
	struct loop *loop;
	const struct machine *machine;
	void *machine_data;
	struct server server;
	struct framed control; /* fd -1: none, or it has ended */
	struct exec_report report;
	struct watched_ports ports;
	struct guest_config config;
	bool configured;
	bool back;		    /* as another machine: a config is due that makes it one */
	struct apply *apply;	    /* the child that mounts, or writes back */
	struct telemetry telemetry; /* zeroed: the config does not ask for it */
	bool applied;
	bool stopping;
	bool told_late; /* a result was sent after stopping began: wait for it to be read */
	bool farewell;	/* all has ended or been killed: only last words are waited for */
	struct loop_watch *deadline;
	bool done;
};

int agent_init(struct agent *agent, struct loop *loop, const struct machine *machine,
	       void *machine_data, const char *etc, const char *cgroup_mount, int program_fd,
	       struct error *err);
/* fd: connected to the host; taken over. Says hello. */
int agent_control(struct agent *agent, int fd, struct error *err);
void agent_control_carried(struct agent *agent, struct mux_stream *stream);
/* The host is another one than before. True: so is the machine, which had been saved; the control
 * stream is to be dialled anew, and there the agent says that it was restored. */
bool agent_is_back(struct agent *agent);
/* All processes have had their SIGTERM: ends what runs, within the grace, then sets done. */
void agent_stop(struct agent *agent);
/* After every round of the loop. */
void agent_settle(struct agent *agent);
void agent_free(struct agent *agent);

#endif
