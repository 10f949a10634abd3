/* SPDX-License-Identifier: MIT */
/*
 * Chooses the modules that a kernel needs to mount its root file system, and those that the guest's
 * agent needs for its work. depmod finds which module depends on which. This code puts the modules
 * in the order of loading, because the guest has no modprobe: the agent calls finit_module() for
 * one module after the other.
 */
#ifndef ARTIFACT_MODULES_H
#define ARTIFACT_MODULES_H

#include <stddef.h>

#include "artifact/cell.h"
#include "base/architecture.h"
#include "base/buf.h"
#include "base/error.h"

struct module_list {
	char **paths; /* paths relative to lib/modules/<version>, such as
		       * "kernel/drivers/virtio/virtio.ko" */
	size_t count;
};
void module_list_free(struct module_list *list);

/* Returns the names of the modules that guests of an architecture need, in the spelling of lsmod.
 * The list ends with NULL. A module that is needed earlier comes first. */
const char *const *guest_modules(enum architecture architecture);

/*
 * Puts modules in the order of loading: each module comes after all modules on which it depends.
 * `dep` is the contents of modules.dep. `builtin` is the contents of modules.builtin, whose modules
 * need no loading. ERR_NOT_FOUND: a name is in neither file. The function reads no files.
 */
int modules_resolve(const char *dep, const char *builtin, const char *const *names,
		    struct module_list *out, struct error *err);

/*
 * Writes a segment to `fd`. The segment contains the modules in modules/<version>/, and the file
 * modules.list, with one path a line in the order of loading. The modules are not in lib/modules,
 * because the segment may follow another initramfs, in which lib is often a link.
 *
 * `root` is the directory cell->out, to which lib/modules/<version> was unpacked from the package.
 * depmod reads this directory in the cell.
 */
int modules_segment(const struct tool_cell *cell, int root, const char *version,
		    enum architecture architecture, int fd, struct error *err);

#endif
