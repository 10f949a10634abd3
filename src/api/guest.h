/* SPDX-License-Identifier: MIT */
/* Functions that the files of the guest handle share. */
#ifndef API_GUEST_H
#define API_GUEST_H

#include "api/api.h"
#include "channel/connections.h"

struct microagent_guest {
	struct open_workspace existing;
	struct connections connections;
};

/* Opens a guest handle like microagent_connect(), but without the command that checks whether the
 * guest answers. If the guest does not answer, the first call on the handle says why. */
struct microagent_guest *guest_handle_open(struct microagent *agent, const char *name,
					   struct error *err);

struct microagent_cancel {
	int fd; /* eventfd, readable once thrown; never read */
};

/* Returns -1 if cancel is absent, which poll() ignores. */
static inline int cancel_fd(const struct microagent_cancel *cancel)
{
	return cancel ? cancel->fd : -1;
}

#endif
