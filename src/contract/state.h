/* SPDX-License-Identifier: MIT */
/* States, commands, and the commands that each state allows. These are data, so that tests can walk
 * all pairs. */
#ifndef CONTRACT_STATE_H
#define CONTRACT_STATE_H

#include <stdbool.h>

enum state {
	STATE_UNKNOWN, /* no state is recorded */
	STATE_PREPARED,
	STATE_STARTING,
	STATE_RUNNING,
	STATE_STOPPING,
	STATE_HALTED,
	STATE_QUARANTINED,
	STATE_STOPPED,
	STATE_FAILED,
	STATE_COUNT
};

/* The text with which the detail of an event begins while the machine is paused. The state of a
 * paused machine stays running. */
#define PAUSED "paused: "
#define PAUSED_AT_QUOTA PAUSED "its disk has grown to its quota"

enum command {
	COMMAND_HOST,
	COMMAND_CHECK,
	COMMAND_PREPARE,
	COMMAND_RUN,
	COMMAND_START,
	COMMAND_CONSOLE,
	COMMAND_INSPECT,
	COMMAND_HALT,
	COMMAND_QUARANTINE,
	COMMAND_STOP,
	COMMAND_KILL,
	COMMAND_DELETE,
	COMMAND_COUNT
};

/* The parts that the request of a command must contain: none, config.stateDir, or a full config. */
enum command_input { INPUT_NONE, INPUT_STATE_DIR, INPUT_FULL_CONFIG };
/* The blocks (members) that a response can have. */
enum response_block {
	BLOCK_EVENT = 1 << 0,
	BLOCK_HOST = 1 << 1,
	BLOCK_VERIFICATION = 1 << 2,
	BLOCK_READINESS = 1 << 3,
	BLOCK_RESULT = 1 << 4,
	BLOCK_ARTIFACTS = 1 << 5,
	BLOCK_MEDIATION = 1 << 6,
	BLOCK_NETWORK = 1 << 7,
	BLOCK_SHARED_ANYWAY = 1 << 8
};

struct command_row {
	const char *name;
	enum command_input input;
	unsigned blocks;      /* the blocks of the command's response: bits of enum
			       * response_block */
	unsigned from_states; /* the states in which the command may act: a bit 1u << state for each
			       * state */
	const char *purpose;
};
extern const struct command_row command_table[COMMAND_COUNT];
extern const char *const state_names[STATE_COUNT];

/* The facts about a state that are in the contract. */
struct state_facts {
	bool runtime_may_continue; /* true: a process of the machine may still live */
	const char *meaning;
};
extern const struct state_facts state_facts[STATE_COUNT];

/* Return the command or the state with that name; COMMAND_COUNT or STATE_COUNT for an unknown
 * name. */
enum command command_from_name(const char *name);
enum state state_from_name(const char *name);
bool state_allows(enum state state, enum command command);
/* Returns true if a workspace in that state has a live supervisor. Returns false for quarantine, in
 * which some workspaces have a live supervisor and some do not. */
bool state_is_live(enum state state);

#endif
