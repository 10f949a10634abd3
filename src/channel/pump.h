/* SPDX-License-Identifier: MIT */
/*
 * Moves bytes between the caller's descriptors and a command in the guest, until the command has
 * ended. There is full back-pressure both ways: the guest cannot write what the caller does not
 * read, and only a frame or two are held.
 */
#ifndef CHANNEL_PUMP_H
#define CHANNEL_PUMP_H

#include "channel/connection.h"

/* What the pump can ask about the guest; each function may be NULL. */
struct pump_guest {
	/* Makes a new connection for a resumable exec whose connection broke. Returns a connected
	 * socket, or -1. */
	int (*dial)(void *data, struct error *err);
	/* Returns whether the machine is paused, so that no process in it answers. */
	bool (*is_paused)(void *data);
	/* Returns a descriptor that is readable when the result of is_paused may have changed;
	 * is_paused empties it. -1: there is none. Called once, and only for a command that runs
	 * for LIMIT_PAUSE_WATCH_MS, since the kernel may need more time to end a watch than a short
	 * command takes. */
	int (*watch_pauses)(void *data);
	/* If true, and nobody reads an output any more, the command gets SIGPIPE, as from a pipe of
	 * its own, and may go on, while its output is dropped. Output that cannot be written for
	 * another reason (a full disk) is lost. If false, a reader that closes stdout ends the
	 * command, and any other failure is an error. */
	bool has_readers_of_its_own;
	void *data;
};

/*
 * Runs a call to its end. The call is the only one on the connection, and has begun: its request is
 * sent here. Its exec has the terminal and the time limit. The descriptors of streams may be of any
 * kind: terminals, pipes, files, sockets. Their flags are not changed, since other programs may
 * share them. SIGPIPE must be ignored.
 *
 * If the caller stops first, the agent is asked to kill the command, and this function waits for
 * that, LIMIT_CANCEL_MS at most. This function does not wait while the machine is paused, since the
 * end of the connection ends the command too, as soon as the machine goes on. Nor does it wait for
 * the workload, whose caller ends the whole guest.
 *
 * *outcome is set on success. ERR_UNAVAILABLE if the connection is lost; ERR_IO if the guest breaks
 * the protocol, or output cannot be written for another reason than a closed pipe.
 */
int pump_run(struct connection *connection, struct agent_call *call,
	     const struct microagent_streams *streams, const struct pump_guest *guest,
	     struct microagent_outcome *outcome, struct error *err);

#endif
