/* SPDX-License-Identifier: MIT */
/*
 * Prepares a machine to be saved, and prepares a restored machine for its new host.
 *
 * The machine of a template must be idle when it is saved. No command runs, no connection is open,
 * and all records were sent, since otherwise the host of a restored machine would get them. All
 * changed data in memory must be written to the disks. The page cache is kept, since all sessions
 * share its pages. If the page cache were dropped, each session would read the pages again, into
 * memory that only this session uses.
 *
 * A machine that continues after the save keeps its connections and commands. In a machine that is
 * restored from the save, the connections end, since their clients are connected to the saved
 * machine. The commands that depend on a connection end with it.
 *
 * The agent freezes all processes of commands before it sends `quiesced`. In a restored machine the
 * processes continue when the kernel's random numbers differ from those of the saved machine. In
 * the machine that was saved, the processes continue at the next message with the time. The host
 * sends this message when the save is over, even if the save has failed. If no such message comes,
 * the processes continue after LIMIT_REST_MS milliseconds. In a restored machine this time does not
 * matter, since the machine gets a config long before.
 */
#include <malloc.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "guest/agent/agent_parts.h"
#include "guest/agent/answer.h"
#include "guest/agent/apply.h"

/* Lets the processes of the saved machine continue if the host did not say that the save is over.
 * For example, a quarantine may have cut the connection to the host. */
static void on_rest_timer(struct loop *loop, void *data)
{
	struct agent *agent = data;

	(void)loop;
	agent->rest_timer = NULL;
	if (!agent->back)
		agent_thaw(agent);
}

static void agent_freeze(struct agent *agent)
{
	cgroup_freeze(&agent->server.context.jobs.cgroups);
	loop_remove(agent->rest_timer);
	agent->rest_timer = loop_add_timer(agent->loop, limit_deadline(LIMIT_REST_MS),
					   on_rest_timer, agent, NULL);
}

void agent_thaw(struct agent *agent)
{
	loop_remove(steal_ptr(&agent->rest_timer));
	cgroup_thaw(&agent->server.context.jobs.cgroups);
}

static const char *what_goes_on(const struct agent *agent)
{
	if (agent->server.context.jobs.count > 0)
		return "a command is running";
	return conns_are_quiet(&agent->server.conns) ? NULL : "a client has not read its answer";
}

static void settle_quiesce(struct agent *agent, const char *why)
{
	if (!why)
		why = what_goes_on(agent); /* a command may have started since the first check */
	if (!why) {
		conns_end(&agent->server.conns);
		malloc_trim(0);
		agent_freeze(agent);
	}
	agent_say(agent, answer_quiesced(why, NULL));
}

static void on_telemetry_settled(void *data)
{
	struct agent *agent = data;

	exec_report_settle(&agent->report);
	settle_quiesce(agent, NULL);
}

/* Continues the quiesce when the child process has written the files to the disks. The agent asks
 * the tracer for its records only now, since the tracer also records the mounts of the child
 * process. The agent reaps the child process before it answers. Otherwise each restored machine
 * would have to reap that process. */
static void on_files_quiet(void *data, const char *error)
{
	struct agent *agent = data;
	autofree char *why = error ? strdup(error) : NULL;

	apply_free(steal_ptr(&agent->apply));
	if (error)
		settle_quiesce(agent, why ? why : "out of memory");
	else
		telemetry_settle(&agent->telemetry, on_telemetry_settled, agent);
}

void agent_quiesce(struct agent *agent, bool goes_on)
{
	const char *why =
		agent->config.template ? what_goes_on(agent) : "this machine is not a template";
	struct error err = {0};

	if (goes_on) {
		agent->config.template = true;
		agent_freeze(agent);
		agent_say(agent, answer_quiesced(NULL, NULL));
		return;
	}
	if (!why && agent->apply)
		why = "the guest is mounting something";
	if (!why) {
		agent->apply = apply_start(agent->loop, agent->machine->quiesce, NULL,
					   on_files_quiet, agent, &err);
		why = agent->apply ? NULL : err.msg;
	}
	if (why)
		settle_quiesce(agent, why);
}

bool agent_is_back(struct agent *agent)
{
	if (!agent->config.template || agent->stopping)
		return false;
	agent->back = true;
	framed_close(&agent->control);
	apply_free(steal_ptr(&agent->apply));
	/* A restored machine must accept no client before it gets a new identity. Otherwise the
	 * restored machine would answer with the identity of the saved machine. */
	server_stop_listening(&agent->server);
	conns_end(&agent->server.conns);
	exec_report_begin_anew(&agent->report);
	telemetry_hold(&agent->telemetry);
	watched_ports_reset(&agent->ports);
	return true;
}
