/* SPDX-License-Identifier: MIT */
/*
 * The supervisor executable. It reads one request document on stdin, writes one answer on stdout,
 * and ends. After start and run the live supervisor (live.h) goes on. Each command has a file of
 * its own.
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
	uint64_t begun_ns; /* start of the process, by the monotonic clock */
};

/* The function of one command. It fills in what the command has to say; response_build() decides
 * which blocks reach stdout. If it fails and response->event is set, that event goes into the
 * failing answer. */
typedef int command_fn(const struct call *call, struct response *response, struct error *err);

command_fn cmd_host, cmd_check, cmd_prepare, cmd_start, cmd_console, cmd_inspect, cmd_stop,
	cmd_quarantine, cmd_delete;

/* Does all of main() except the choice of the backend. Returns the exit code. */
int supervisor_main(const struct backend *backend, int argc, char **argv);

#endif
