/* SPDX-License-Identifier: MIT */
/*
 * The supervisor program. The program reads one request from stdin, writes one answer to stdout,
 * and exits. The commands start and run also start a live supervisor (live.h), which keeps the
 * machine. Each command has its own file.
 */
#ifndef SUPERVISOR_SUPERVISOR_H
#define SUPERVISOR_SUPERVISOR_H

#include <stdint.h>

#include "backend/backend.h"
#include "base/error.h"
#include "contract/request.h"
#include "contract/response.h"
#include "supervisor/options.h"

/* One command, with its request and options. */
struct call {
	const struct backend *backend;
	const struct options *options;
	const struct request *request;
	uint64_t begun_ns; /* the monotonic time at which the process started */
};

/* The function of one command. The function fills in the response. response_build() then decides
 * which blocks of the response are written to stdout. If the function fails and has set
 * response->event, the answer has the error and this event. */
typedef int command_fn(const struct call *call, struct response *response, struct error *err);

command_fn cmd_host, cmd_check, cmd_prepare, cmd_start, cmd_console, cmd_inspect, cmd_stop,
	cmd_quarantine, cmd_delete;

/* Does all the work of main() except the choice of the backend. Returns the exit code. */
int supervisor_main(const struct backend *backend, int argc, char **argv);

#endif
