/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Sends a message with copies of file descriptors through a Unix socket. Returns false on
 * failure. */
bool descriptors_send(int fd, const void *bytes, size_t length, const int *fds, int count);
