/* SPDX-License-Identifier: MIT */
/* Starts the file operation that a request of the envelope form asks for. A process that runs as
 * the request's user does the work. The agent answers the request when the process has exited. */
#ifndef GUEST_CALL_FILE_H
#define GUEST_CALL_FILE_H

#include "guest/agent/call.h"

int call_file(struct conn *conn, struct request *request, struct error *err);

#endif
