/* SPDX-License-Identifier: MIT */
/* One file per command: it fills in what it has to say. On failure response->event, where it is
 * set, goes into the failing answer. */
#ifndef HYPERV_COMMANDS_H
#define HYPERV_COMMANDS_H

#include "base/error.h"
#include "contract/request.h"
#include "contract/response.h"

typedef int hyperv_command_fn(const struct request *request, struct response *response,
			      struct error *err);

hyperv_command_fn hyperv_host, hyperv_check, hyperv_prepare, hyperv_start, hyperv_inspect,
	hyperv_stop, hyperv_delete;

/* What this supervisor has no way to give, and what this host lacks: before anything is touched. */
int refuse_config(const struct config *config, struct error *err);

#endif
