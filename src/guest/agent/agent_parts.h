/* SPDX-License-Identifier: MIT */
/* Functions of the agent that more than one of its files uses. */
#ifndef GUEST_AGENT_PARTS_H
#define GUEST_AGENT_PARTS_H

#include "guest/agent/agent.h"

/* Sends the message `text` to the host, and frees `text`. NULL means that there was no memory for
 * the message. */
void agent_say(struct agent *agent, char *text);
/* Prepares the machine to be saved, freezes the processes of all commands, and sends `quiesced`.
 * `goes_on` is true if this machine continues after the save. Machines that are restored from the
 * save are other machines then. */
void agent_quiesce(struct agent *agent, bool goes_on);
/* Lets the processes that agent_quiesce() has frozen continue. Does nothing if no process is
 * frozen. */
void agent_thaw(struct agent *agent);

#endif
