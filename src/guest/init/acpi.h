/* SPDX-License-Identifier: MIT */
/* Detects that the ACPI power button was pressed. The kernel reports this through its netlink group
 * acpi_event. */
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

/* The two functions that parse netlink messages, which are public so that tests can call them. */
/* Returns the number of the netlink group, or -1 with err set. */
int acpi_parse_group(const void *reply, size_t len, struct error *err);
bool acpi_parse_button(const void *message, size_t len);

#endif
