/* SPDX-License-Identifier: MIT */
/*
 * The disks of a workspace other than its root disk, in the order in which the guest gets them. The
 * command start opens each disk once, and gives the descriptor to the live supervisor. So the
 * machine uses the same open files that were checked.
 *
 * If a running workspace writes to a file as its disk, no other running workspace may have this
 * file as a disk (store/taken.h).
 */
#ifndef SUPERVISOR_DISKS_H
#define SUPERVISOR_DISKS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "backend/backend.h"
#include "base/error.h"
#include "contract/request.h"
#include "store/review_files.h"

struct disk {
	char serial[VM_SERIAL_SIZE]; /* the serial number, by which the guest finds the disk */
	char *name;		     /* the name of the disk in messages */
	char *mountpoint;
	/* The name of the layer to which the guest writes what it changes in the files of this disk,
	 * which is then read-only; "": there is none. */
	char upper[UPPER_TEXT];
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
	DISK_CHECK, /* for a check only; the disk is opened for reading */
	DISK_BOOT,  /* for a machine */
};

/*
 * Opens the disks of config.disks. `rootfs_fd` is the root disk; -1: there is none. No disk may be
 * the file of the root disk. Two disks may be the same file only if both are read-only. On an
 * error, the message names the field and the file, and *out is not changed.
 */
int disks_open(const struct config *config, int rootfs_fd, enum disk_use use, struct disk_list *out,
	       struct error *err);
/* Marks the disks of config.disks as taken (store/taken.h), so that no other workspace can use
 * them. `list` must have exactly the disks of config.disks. */
int disks_take(const struct config *config, const struct disk_list *list, struct error *err);
/* Appends a disk to the list. Takes over `fd`, even if the function fails. Copies the texts.
 * `upper`: see struct disk. */
int disks_add(struct disk_list *list, const char *serial, const char *name, const char *mountpoint,
	      const char *upper, bool read_only, int fd, struct error *err);
void disks_close(struct disk_list *list); /* closes all disks; accepts an empty list */

/* Returns the disks as [{serial, name, mountpoint, mode, upper?}], for the run config and the ticket.
 * The mode of a disk with an upper layer is "review". */
json_t *disks_json(const struct disk_list *list, struct error *err);

#endif
