/* SPDX-License-Identifier: MIT */
/* The commands. Each command is in a file of its own and fills in its response. If a command fails
 * and has set response->event, that event goes into the failing answer. */
#ifndef HYPERV_COMMANDS_H
#define HYPERV_COMMANDS_H

#include "base/error.h"
#include "contract/request.h"
#include "contract/response.h"

typedef int hyperv_command_fn(const struct request *request, struct response *response,
			      struct error *err);

hyperv_command_fn hyperv_host, hyperv_check, hyperv_prepare, hyperv_start, hyperv_inspect,
	hyperv_stop, hyperv_delete;

/* Refuses what this supervisor cannot give and what this host lacks, before anything is changed. */
int refuse_config(const struct config *config, struct error *err);

#endif
