/* SPDX-License-Identifier: MIT */
/*
 * The disks of a workspace beside its root, in the order in which the guest gets them. They are
 * opened once, by start, and handed on by descriptor: what was looked at is what the VM has.
 *
 * Two running workspaces never write to one file: see store/taken.h.
 */
#ifndef SUPERVISOR_DISKS_H
#define SUPERVISOR_DISKS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "backend/backend.h"
#include "base/error.h"
#include "contract/request.h"

struct disk {
	char serial[VM_SERIAL_SIZE]; /* by which the guest finds it */
	char *name;		     /* for people */
	char *mountpoint;
	bool read_only;
	int fd;
};

struct disk_list {
	struct disk *items;
	size_t count;
};
#define DISK_LIST_INIT \
	{              \
		0      \
	}

enum disk_use {
	DISK_CHECK, /* a VM could have it: opened for reading */
	DISK_BOOT,  /* a VM gets it */
};

/*
 * Opens config.disks. rootfs_fd (-1: none) is the root's, which no disk may be. Errors name the
 * field and the file; out is untouched then.
 */
int disks_open(const struct config *config, int rootfs_fd, enum disk_use use, struct disk_list *out,
	       struct error *err);
/* Takes those of config.disks, as long as the list has no other ones yet. */
int disks_take(const struct config *config, const struct disk_list *list, struct error *err);
/* Appends one more, whose descriptor becomes the list's own, also on failure. serial and name are
 * copied. */
int disks_add(struct disk_list *list, const char *serial, const char *name, const char *mountpoint,
	      bool read_only, int fd, struct error *err);
void disks_close(struct disk_list *list); /* accepts an empty one */

/* [{serial, name, mountpoint, mode}], as the run config and the ticket have it. */
json_t *disks_json(const struct disk_list *list, struct error *err);

#endif
