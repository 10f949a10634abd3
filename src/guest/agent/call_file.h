/* SPDX-License-Identifier: MIT */
/* Starts the envelope form's work on files, and answers. A process of the requesting user does the
 * work. */
#ifndef GUEST_CALL_FILE_H
#define GUEST_CALL_FILE_H

#include "guest/agent/call.h"

int call_file(struct conn *conn, struct request *request, struct error *err);

#endif
