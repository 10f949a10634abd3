/* SPDX-License-Identifier: MIT */
/* The ACPI power button, as the kernel's acpi_event netlink group tells of it. */
#ifndef GUEST_ACPI_H
#define GUEST_ACPI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* A netlink socket that becomes readable with every ACPI event (non-blocking). ERR_NOT_FOUND where
 * the kernel has no such group: a machine without ACPI. */
int acpi_open(struct error *err);
/* Takes what is queued. true: the power button was pressed. */
bool acpi_button_pressed(int fd);

/* The two parsers, for tests. */
int acpi_parse_group(const void *reply, size_t len, struct error *err); /* the group's number */
bool acpi_parse_button(const void *message, size_t len);

#endif
