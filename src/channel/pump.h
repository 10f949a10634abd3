/* SPDX-License-Identifier: MIT */
/*
 * The pump: moves bytes between the caller's descriptors and a command in the guest, until the
 * command has ended. If the reader of a stream is slow, the writer of this stream has to wait,
 * because the pump stores at most two frames.
 */
#ifndef CHANNEL_PUMP_H
#define CHANNEL_PUMP_H

#include "channel/connection.h"

/* The functions by which the pump acts on the guest and asks about the guest's state. Each function
 * may be NULL. */
struct pump_guest {
	/* Makes a new connection for a resumable exec after its connection was lost. Returns a
	 * connected socket, or -1. */
	int (*dial)(void *data, struct error *err);
	/* Returns true if the machine is paused, so that no process in it answers. */
	bool (*is_paused)(void *data);
	/* Returns a descriptor that is readable when the result of is_paused() may have changed;
	 * is_paused() makes it unreadable again. -1: there is no such descriptor. The pump calls
	 * this function once, and only after the command has run for LIMIT_PAUSE_WATCH_MS, because
	 * a watch may cost more time than a short command. */
	int (*watch_pauses)(void *data);
	/* Decides what happens if an output cannot be written. If true: when the reader has closed
	 * the output, the command gets SIGPIPE and may go on, and this output is dropped. When
	 * writing fails for another reason (a full disk), the output is lost. If false: when the
	 * reader has closed stdout, the command is ended. When the reader has closed stderr, this
	 * output is dropped. Any other failure is an error. */
	bool has_readers_of_its_own;
	void *data;
};

/*
 * Runs a call to its end. The call must be the only call on the connection. Its request must be
 * queued, and this function sends it. The exec of the call has the terminal and the time limit. The
 * descriptors of streams may be of any kind: terminals, pipes, files, sockets. The flags of these
 * descriptors are not changed, since other programs may share them. SIGPIPE must be ignored.
 *
 * If the caller ends the command (by a cancel, a signal, or a closed output), the agent is asked to
 * kill the command, and this function waits at most LIMIT_CANCEL_MS for the command's end. The
 * function does not wait if the machine is paused: when the machine goes on, the end of the
 * connection ends the command. The function does not wait for the end of the workload either,
 * because the caller then ends the whole guest.
 *
 * *outcome is set on success. ERR_UNAVAILABLE if the connection is lost; ERR_IO if the guest breaks
 * the protocol, or if output cannot be written for another reason than a closed pipe.
 */
int pump_run(struct connection *connection, struct agent_call *call,
	     const struct microagent_streams *streams, const struct pump_guest *guest,
	     struct microagent_outcome *outcome, struct error *err);

#endif
