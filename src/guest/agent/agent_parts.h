/* SPDX-License-Identifier: MIT */
/* Functions that the files of the agent share. */
#ifndef GUEST_AGENT_PARTS_H
#define GUEST_AGENT_PARTS_H

#include "guest/agent/agent.h"

/* Sends a message to the host and takes over text; NULL means that there was no memory for it. */
void agent_say(struct agent *agent, char *text);
/* Makes the machine fit to be saved and says `quiesced`. goes_on: the machine is saved while it
 * runs, with everything that is under way, and a machine restored from that is another machine. */
void agent_quiesce(struct agent *agent, bool goes_on);

#endif
