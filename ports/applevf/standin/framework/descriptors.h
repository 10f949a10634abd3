/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Sends a message with copies of descriptors through a Unix socket. Returns false if this fails. */
bool descriptors_send(int fd, const void *bytes, size_t length, const int *fds, int count);
