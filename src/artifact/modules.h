/* SPDX-License-Identifier: MIT */
/*
 * The modules that a kernel needs until its root file system is mounted, and for what the guest
 * agent offers. depmod says what each depends on; the order is ours, since it must load them with
 * nothing but finit_module().
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

/* What guests of an architecture need, in the order of wanting; NULL-terminated. Names as lsmod
 * shows them. */
const char *const *guest_modules(enum architecture architecture);

/*
 * names in load order, each behind everything it depends on, from the text of modules.dep. builtin
 * is the text of modules.builtin: a name found there needs no loading. A name found in neither is
 * ERR_NOT_FOUND. Pure.
 */
int modules_resolve(const char *dep, const char *builtin, const char *const *names,
		    struct module_list *out, struct error *err);

/*
 * Writes a segment to fd: modules/<version>/... and modules.list, a path a line in load order; not
 * below lib, which is a link in many an initramfs that ours may be put behind.
 * root, which is cell->out, holds lib/modules/<version> as it comes out of the package. depmod is
 * run on it in the cell.
 */
int modules_segment(const struct tool_cell *cell, int root, const char *version,
		    enum architecture architecture, int fd, struct error *err);

#endif
