/* SPDX-License-Identifier: MIT */
/*
 * The supervisor executable: one request document on stdin, one answer on stdout, and gone. What
 * start and run leave behind is the live supervisor (live.h). One file per command.
 */
#ifndef SUPERVISOR_SUPERVISOR_H
#define SUPERVISOR_SUPERVISOR_H

#include <stdint.h>

#include "backend/backend.h"
#include "base/error.h"
#include "contract/request.h"
#include "contract/response.h"
#include "supervisor/options.h"

/* One command on its way from stdin to stdout. */
struct call {
	const struct backend *backend;
	const struct options *options;
	const struct request *request;
	uint64_t begun_ns; /* monotonic, start of the process */
};

/* Fills in what the command has to say; which blocks reach stdout is response_build()'s business.
 * On failure response->event, where it is set, goes into the failing answer. */
typedef int command_fn(const struct call *call, struct response *response, struct error *err);

command_fn cmd_host, cmd_check, cmd_prepare, cmd_start, cmd_console, cmd_inspect, cmd_stop,
	cmd_quarantine, cmd_delete;

/* The whole of main() but for the choice of the backend. Returns the exit code. */
int supervisor_main(const struct backend *backend, int argc, char **argv);

#endif
