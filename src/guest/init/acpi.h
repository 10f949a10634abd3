/* SPDX-License-Identifier: MIT */
/* The ACPI power button, which the kernel reports through its netlink group acpi_event. */
#ifndef GUEST_ACPI_H
#define GUEST_ACPI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Returns a non-blocking netlink socket that becomes readable with every ACPI event. Fails with
 * ERR_NOT_FOUND if the kernel has no such group: a machine without ACPI. */
int acpi_open(struct error *err);
/* Reads all queued events. Returns true if the power button was pressed. */
bool acpi_button_pressed(int fd);

/* The two parsers of netlink messages. They are here for tests. */
/* Returns the group's number. */
int acpi_parse_group(const void *reply, size_t len, struct error *err);
bool acpi_parse_button(const void *message, size_t len);

#endif
