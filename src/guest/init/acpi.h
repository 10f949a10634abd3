/* SPDX-License-Identifier: MIT */
/* The ACPI power button. The kernel reports it through its netlink group acpi_event. */
#ifndef GUEST_ACPI_H
#define GUEST_ACPI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Returns a non-blocking netlink socket that becomes readable with every ACPI event. Fails with
 * ERR_NOT_FOUND if the kernel has no such group, which means that the machine has no ACPI. */
int acpi_open(struct error *err);
/* Reads all queued events. Returns true if the power button was pressed. */
bool acpi_button_pressed(int fd);

/* The two parsers of netlink messages. They are public for tests. */
/* Returns the number of the netlink group. */
int acpi_parse_group(const void *reply, size_t len, struct error *err);
bool acpi_parse_button(const void *message, size_t len);

#endif
