/* SPDX-License-Identifier: MIT */
/*
 * The modules that a kernel needs until its root file system is mounted, and those for the features
 * of the guest agent. depmod finds the dependencies. This program makes the order, because the
 * agent must load the modules with only finit_module().
 */
#ifndef ARTIFACT_MODULES_H
#define ARTIFACT_MODULES_H

#include <stddef.h>

#include "artifact/cell.h"
#include "base/architecture.h"
#include "base/buf.h"
#include "base/error.h"

struct module_list {
	char **paths; /* relative to lib/modules/<version>: "kernel/drivers/virtio/virtio.ko" */
	size_t count;
};
void module_list_free(struct module_list *list);

/* Returns the modules that guests of an architecture need, in the order of need, NULL-terminated.
 * Names are as lsmod shows them. */
const char *const *guest_modules(enum architecture architecture);

/*
 * Puts names in load order: each module comes after all modules on which it depends. dep is the
 * text of modules.dep. builtin is the text of modules.builtin; a name found there needs no loading.
 * A name found in neither is ERR_NOT_FOUND. The function is pure.
 */
int modules_resolve(const char *dep, const char *builtin, const char *const *names,
		    struct module_list *out, struct error *err);

/*
 * Writes a segment to fd: modules/<version>/..., and modules.list with one path a line in load
 * order. The segment does not use lib, because ours may be put behind another initramfs, in which
 * lib is often a link.
 *
 * root, which is cell->out, holds lib/modules/<version> from the package. depmod runs on it in the
 * cell.
 */
int modules_segment(const struct tool_cell *cell, int root, const char *version,
		    enum architecture architecture, int fd, struct error *err);

#endif
