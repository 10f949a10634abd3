/* SPDX-License-Identifier: MIT */
/* Functions that the files of the agent share. */
#ifndef GUEST_AGENT_PARTS_H
#define GUEST_AGENT_PARTS_H

#include "guest/agent/agent.h"

/* Sends a message to the host and takes over `text`. If `text` is NULL, there was no memory for the
 * message. */
void agent_say(struct agent *agent, char *text);
/* Gets the machine ready to be saved, freezes the processes of all commands, and sends `quiesced`.
 * If `goes_on` is true, this machine goes on after the save, and a machine that is restored from
 * the save is another machine. */
void agent_quiesce(struct agent *agent, bool goes_on);
/* Lets the processes go on that agent_quiesce() has frozen. Does nothing if none are frozen. */
void agent_thaw(struct agent *agent);

#endif
