/* SPDX-License-Identifier: MIT */
/*
 * The state table as data. `host` does not look at a workspace, and `check` and `inspect` only
 * read, so every state allows these commands. Every state allows `delete` too: whether a process
 * lives is shown by the lease, and not by the recorded state.
 */
#include "contract/state.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define IN(state) (1u << STATE_##state)
#define ANY_STATE ((1u << STATE_COUNT) - 1)
#define RECORDED (ANY_STATE & ~IN(UNKNOWN))
#define AT_REST (IN(PREPARED) | IN(HALTED) | IN(STOPPED) | IN(FAILED))

#define BLOCKS_DECLARED (BLOCK_ARTIFACTS | BLOCK_MEDIATION | BLOCK_SHARED_ANYWAY)
#define BLOCKS_LIVE                                                                            \
	(BLOCK_EVENT | BLOCK_VERIFICATION | BLOCK_READINESS | BLOCK_RESULT | BLOCKS_DECLARED | \
	 BLOCK_NETWORK)

const struct command_row command_table[COMMAND_COUNT] = {
	[COMMAND_HOST] = {"host", INPUT_NONE, BLOCK_HOST, ANY_STATE,
			  "Report what this host can do"},
	[COMMAND_CHECK] = {"check", INPUT_FULL_CONFIG,
			   BLOCK_EVENT | BLOCK_VERIFICATION | BLOCK_MEDIATION | BLOCK_SHARED_ANYWAY,
			   ANY_STATE, "Validate identity and config, and record nothing"},
	[COMMAND_PREPARE] = {"prepare", INPUT_FULL_CONFIG,
			     BLOCK_EVENT | BLOCK_VERIFICATION | BLOCKS_DECLARED,
			     AT_REST | IN(UNKNOWN), "Record config and digests without booting"},
	[COMMAND_RUN] = {"run", INPUT_FULL_CONFIG, BLOCKS_LIVE, AT_REST,
			 "Boot in the foreground and wait for the end"},
	[COMMAND_START] = {"start", INPUT_FULL_CONFIG, BLOCKS_LIVE, AT_REST,
			   "Boot a prepared workspace and answer when the guest is ready"},
	[COMMAND_CONSOLE] = {"console", INPUT_FULL_CONFIG, BLOCK_EVENT, IN(RUNNING),
			     "Attach to the console of a running workspace"},
	[COMMAND_INSPECT] = {"inspect", INPUT_STATE_DIR, BLOCKS_LIVE, ANY_STATE,
			     "Read the latest state"},
	[COMMAND_HALT] = {"halt", INPUT_STATE_DIR, BLOCK_EVENT, RECORDED,
			  "Shut down cleanly and keep the disk for a later start"},
	[COMMAND_QUARANTINE] = {"quarantine", INPUT_STATE_DIR, BLOCK_EVENT, AT_REST | IN(RUNNING),
				"Sever the host side without stopping the guest"},
	[COMMAND_STOP] = {"stop", INPUT_STATE_DIR, BLOCK_EVENT, RECORDED, "Stop gracefully"},
	[COMMAND_KILL] = {"kill", INPUT_STATE_DIR, BLOCK_EVENT, RECORDED, "Stop at once"},
	[COMMAND_DELETE] = {"delete", INPUT_STATE_DIR, BLOCK_EVENT, ANY_STATE,
			    "Remove the workspace; none of its processes may be running"},
};
static_assert(sizeof(command_table) / sizeof(command_table[0]) == COMMAND_COUNT,
	      "a row for every command");

const char *const state_names[STATE_COUNT] = {
	[STATE_UNKNOWN] = "unknown",   [STATE_PREPARED] = "prepared",
	[STATE_STARTING] = "starting", [STATE_RUNNING] = "running",
	[STATE_STOPPING] = "stopping", [STATE_HALTED] = "halted",
	[STATE_STOPPED] = "stopped",   [STATE_QUARANTINED] = "quarantined",
	[STATE_FAILED] = "failed",
};
static_assert(sizeof(state_names) / sizeof(state_names[0]) == STATE_COUNT,
	      "a name for every state");

const struct state_facts state_facts[STATE_COUNT] = {
	[STATE_UNKNOWN] = {false, "Nothing is recorded"},
	[STATE_PREPARED] = {false, "Config and digests are recorded; nothing was booted since"},
	[STATE_STARTING] = {false, "The VM is being booted and its guest is not ready yet"},
	[STATE_RUNNING] = {true, "The guest is up"},
	[STATE_STOPPING] = {false, "The guest was asked to end"},
	[STATE_HALTED] =
		{false,
		 "The VM is gone after a clean end; disk, identity and history stay for a later start"},
	[STATE_QUARANTINED] =
		{true,
		 "Every path between guest and host is severed; it has to be halted, stopped or killed before it can be started again"},
	[STATE_STOPPED] = {false, "The VM has ended"},
	[STATE_FAILED] =
		{false,
		 "The VM, its guest or its workload failed or could not start; the event's detail says why"},
};

enum command command_from_name(const char *name)
{
	for (size_t i = 0; name && i < COMMAND_COUNT; i++)
		if (!strcmp(command_table[i].name, name))
			return (enum command)i;
	return COMMAND_COUNT;
}

enum state state_from_name(const char *name)
{
	for (size_t i = 0; name && i < STATE_COUNT; i++)
		if (!strcmp(state_names[i], name))
			return (enum state)i;
	return STATE_COUNT;
}

bool state_allows(enum state state, enum command command)
{
	if ((unsigned)state >= STATE_COUNT || (unsigned)command >= COMMAND_COUNT)
		return false;
	return command_table[command].from_states & 1u << state;
}

bool state_is_live(enum state state)
{
	return state == STATE_STARTING || state == STATE_RUNNING || state == STATE_STOPPING;
}
