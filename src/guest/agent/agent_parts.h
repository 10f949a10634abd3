/* SPDX-License-Identifier: MIT */
/* Functions of the agent that more than one of its files uses. */
#ifndef GUEST_AGENT_PARTS_H
#define GUEST_AGENT_PARTS_H

#include "guest/agent/agent.h"

/* Sends the message `text` to the host, and takes over `text`. NULL means that there was no memory
 * for the message. */
void agent_say(struct agent *agent, char *text);
/* Gets the machine ready to be saved, freezes the processes of all commands, and sends `quiesced`.
 * `goes_on` is true if this machine goes on after the save, as another machine than those that are
 * restored from the save. */
void agent_quiesce(struct agent *agent, bool goes_on);
/* Lets the processes that agent_quiesce() has frozen go on. Does nothing if none are frozen. */
void agent_thaw(struct agent *agent);

#endif
