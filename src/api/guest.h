/* SPDX-License-Identifier: MIT */
/* Between the files of the guest handle. */
#ifndef API_GUEST_H
#define API_GUEST_H

#include "api/api.h"
#include "channel/connections.h"

struct microagent_guest {
	struct open_workspace existing;
	struct connections connections;
};

/* microagent_connect() without the command by which that one sees that the guest answers: the first
 * call on the handle says why it does not. */
struct microagent_guest *guest_handle_open(struct microagent *agent, const char *name,
					   struct error *err);

struct microagent_cancel {
	int fd; /* eventfd, readable once thrown; never read */
};

/* -1 when absent, as poll() likes it. */
static inline int cancel_fd(const struct microagent_cancel *cancel)
{
	return cancel ? cancel->fd : -1;
}

#endif
