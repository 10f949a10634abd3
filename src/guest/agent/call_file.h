/* SPDX-License-Identifier: MIT */
/* The envelope form's work on files: a process of the requesting user does it, this starts it and
 * answers. */
#ifndef GUEST_CALL_FILE_H
#define GUEST_CALL_FILE_H

#include "guest/agent/call.h"

int call_file(struct conn *conn, struct request *request, struct error *err);

#endif
