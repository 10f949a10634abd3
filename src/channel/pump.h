/* SPDX-License-Identifier: MIT */
/*
 * Moves bytes between the caller's descriptors and a command in the guest, until the command has
 * ended. Full back-pressure both ways: what the caller does not read, the guest cannot write, and
 * nothing is kept but a frame or two.
 */
#ifndef CHANNEL_PUMP_H
#define CHANNEL_PUMP_H

#include "channel/connection.h"

/* What is known of the guest; each may be NULL. */
struct pump_guest {
	/* Makes the connection of a resumable exec that broke anew: a connected socket, or -1. */
	int (*dial)(void *data, struct error *err);
	/* Whether it stands still, so that nobody in it answers. */
	bool (*is_paused)(void *data);
	/* Called once, and only for what goes on for LIMIT_PAUSE_WATCH_MS, since to end a watch may
	 * take the kernel longer than a short command: a descriptor that is readable when is_paused
	 * may say otherwise, and which that takes; -1: that is not told. */
	int (*watch_pauses)(void *data);
	/* Where nobody reads the output any more the command is told by SIGPIPE, as by a pipe of
	 * its own, and may go on, unheard; what cannot be written for another reason (a full disk)
	 * is lost. Else who does not read stdout has stopped, and the other is an error. */
	bool has_readers_of_its_own;
	void *data;
};

/*
 * call is the only one on the connection, and begun: its request goes out here. Its exec says what
 * terminal it is on and how long it may take. The descriptors of streams may be of any kind:
 * terminals, pipes, files, sockets. Their flags are left alone, since they may be shared with other
 * programs. SIGPIPE must be ignored.
 *
 * When the caller stops first, the agent is asked to kill the command, and that is waited for,
 * LIMIT_CANCEL_MS; not where it is paused, since the end of the connection ends the command too, as
 * soon as it goes on, and not for the workload, whose caller ends the whole guest.
 *
 * *outcome is set on success. ERR_UNAVAILABLE when the connection is lost; ERR_IO when the guest
 * breaks the protocol, or output cannot be written for another reason than a closed pipe.
 */
int pump_run(struct connection *connection, struct agent_call *call,
	     const struct microagent_streams *streams, const struct pump_guest *guest,
	     struct microagent_outcome *outcome, struct error *err);

#endif
