/* SPDX-License-Identifier: MIT */
/* Declares what the files of the guest handle share. */
#ifndef API_GUEST_H
#define API_GUEST_H

#include "api/api.h"
#include "channel/connections.h"

struct microagent_guest {
	struct open_workspace existing;
	struct connections connections;
};

/* Opens a guest handle as microagent_connect() does, but does not test by a command whether the
 * guest answers. If the guest does not answer, the first call on the handle fails and says why. */
struct microagent_guest *guest_handle_open(struct microagent *agent, const char *name,
					   struct error *err);

struct microagent_cancel {
	int fd; /* a wake descriptor, which is readable after the cancel; nobody reads from it */
};

/* Returns the descriptor of `cancel`, or -1, which poll() ignores, if `cancel` is NULL. */
static inline int cancel_fd(const struct microagent_cancel *cancel)
{
	return cancel ? cancel->fd : -1;
}

#endif
