/* SPDX-License-Identifier: MIT */
/* The commands of the supervisor. Each command has its own file, and sets the members of its
 * response. If a command fails after it has set response->event, the answer has both the error and
 * that event. */
#ifndef HYPERV_COMMANDS_H
#define HYPERV_COMMANDS_H

#include "base/error.h"
#include "contract/request.h"
#include "contract/response.h"

typedef int hyperv_command_fn(const struct request *request, struct response *response,
			      struct error *err);

hyperv_command_fn hyperv_host, hyperv_check, hyperv_prepare, hyperv_start, hyperv_inspect,
	hyperv_stop, hyperv_delete;

/* Checks that this supervisor and this host can do everything that the config asks for. Changes
 * nothing on the host. Returns 0, or -1 with err set. */
int refuse_config(const struct config *config, struct error *err);

#endif
