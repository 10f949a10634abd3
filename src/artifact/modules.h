/* SPDX-License-Identifier: MIT */
/*
 * The modules that a kernel needs until its root file system is mounted, and the modules that the
 * guest's agent needs for its work. depmod finds which module depends on which. This program puts
 * the modules in order, because the agent has no modprobe: it calls finit_module() for one module
 * after the other.
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

/* Returns the names of the modules that guests of an architecture need, as lsmod shows them,
 * NULL-terminated. A module that is needed earlier comes first. */
const char *const *guest_modules(enum architecture architecture);

/*
 * Puts modules in the order of loading: each module comes after all modules on which it depends.
 * `dep` is the text of modules.dep. `builtin` is the text of modules.builtin; a module that is
 * listed in `builtin` needs no loading. ERR_NOT_FOUND if a name is in none of the two texts. The
 * function is pure.
 */
int modules_resolve(const char *dep, const char *builtin, const char *const *names,
		    struct module_list *out, struct error *err);

/*
 * Writes a segment to `fd`: modules/<version>/..., and modules.list with one path a line in the
 * order of loading. The modules are not in lib/modules, because the segment may be put behind
 * another initramfs, in which lib is often a link.
 *
 * `root` is the directory cell->out, in which lib/modules/<version> was unpacked from the package.
 * depmod runs on it in the cell.
 */
int modules_segment(const struct tool_cell *cell, int root, const char *version,
		    enum architecture architecture, int fd, struct error *err);

#endif
