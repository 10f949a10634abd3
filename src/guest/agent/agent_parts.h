/* SPDX-License-Identifier: MIT */
/* What the files of the agent share. */
#ifndef GUEST_AGENT_PARTS_H
#define GUEST_AGENT_PARTS_H

#include "guest/agent/agent.h"

/* Takes over text; NULL: no memory. */
void agent_say(struct agent *agent, char *text);
/* Makes the machine fit to be saved, and says `quiesced`. goes_on: it will be while it runs, with
 * all that is under way: what comes back of it is another machine. */
void agent_quiesce(struct agent *agent, bool goes_on);

#endif
