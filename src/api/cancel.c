/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "api/guest.h"
#include "base/cleanup.h"
#include "base/platform/waitable.h"

struct microagent_cancel *microagent_cancel_new(struct error *err)
{
	struct microagent_cancel *cancel = malloc(sizeof(*cancel));

	if (!cancel) {
		error_errno(err, ENOMEM, "cancel");
		return NULL;
	}
	cancel->fd = wake_open();
	if (cancel->fd < 0) {
		error_errno(err, errno, "cancel");
		free(cancel);
		return NULL;
	}
	return cancel;
}

void microagent_cancel_fire(struct microagent_cancel *cancel)
{
	wake_raise(cancel->fd);
}

int microagent_cancel_fd(const struct microagent_cancel *cancel)
{
	return cancel->fd;
}

void microagent_cancel_free(struct microagent_cancel *cancel)
{
	if (!cancel)
		return;
	close(cancel->fd);
	free(cancel);
}
