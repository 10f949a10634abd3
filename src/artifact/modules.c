/* SPDX-License-Identifier: MIT */
#include "artifact/modules.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "artifact/below.h"
#include "artifact/cpio.h"
#include "base/cleanup.h"

#define TEXT_BYTES (8u << 20)
#define NAME_BYTES 64

/* The modules that every guest needs. A module that is needed earlier comes first. */
#define EVERY_GUEST_S                                                                             \
	"virtio_pci", "virtio_blk", "virtio_console", "virtio_rng", "vmw_vsock_virtio_transport", \
		"virtio_net", "virtio_balloon", "fuse", "virtiofs", "overlay", "squashfs"

const char *const *guest_modules(enum architecture architecture)
{
	/* On amd64, the module "button" reports that the power button was pressed. On arm64,
	 * "virtio_input" and "evdev" report it. */
	static const char *const amd64[] = {"virtio_mmio", EVERY_GUEST_S, "button", NULL};
	static const char *const arm64[] = {EVERY_GUEST_S, "virtio_input", "evdev", NULL};
	static const char *const *const lists[ARCHITECTURE_COUNT] = {
		[ARCHITECTURE_AMD64] = amd64,
		[ARCHITECTURE_ARM64] = arm64,
	};

	return lists[architecture];
}

void module_list_free(struct module_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->paths[i]);
	free(list->paths);
	memset(list, 0, sizeof(*list));
}

/* Writes the name of a module to name: "virtio_rng" for the path
 * "kernel/drivers/char/hw_random/virtio-rng.ko". Returns false if the path is not the path of a
 * module. */
static bool module_name(const char *path, size_t len, char name[NAME_BYTES])
{
	const char *slash = memrchr(path, '/', len);
	const char *base = slash ? slash + 1 : path;
	const char *end = memmem(base, len - (size_t)(base - path), ".ko", 3);
	size_t n = end ? (size_t)(end - base) : 0;

	if (n == 0 || n >= NAME_BYTES)
		return false;
	for (size_t i = 0; i < n; i++)
		name[i] = base[i] == '-' ? '_' : base[i];
	name[n] = '\0';
	return true;
}

/* Returns the line in `text` about the module `name`, or NULL if there is no such line. A line
 * begins with the module's path, and `end` is the character after the path (':' or '\n'). */
static const char *find_line(const char *text, const char *name, char end)
{
	while (*text) {
		size_t line = strcspn(text, "\n");
		const char *stop = end == '\n' ? text + line : memchr(text, end, line);
		char found[NAME_BYTES];

		if (stop && module_name(text, (size_t)(stop - text), found) &&
		    strcmp(found, name) == 0)
			return text;
		text += line + (text[line] == '\n');
	}
	return NULL;
}

static int add_path(struct module_list *list, const char *path, size_t len, struct error *err)
{
	char **paths;

	for (size_t i = 0; i < list->count; i++)
		if (strlen(list->paths[i]) == len && memcmp(list->paths[i], path, len) == 0)
			return 0;
	paths = reallocarray(list->paths, list->count + 1, sizeof(*paths));
	if (!paths)
		return error_errno(err, ENOMEM, "list of modules");
	list->paths = paths;
	paths[list->count] = strndup(path, len);
	if (!paths[list->count])
		return error_errno(err, ENOMEM, "list of modules");
	list->count++;
	return 0;
}

/*
 * Adds a module and its dependencies from a line of modules.dep: "path: dep1 dep2 dep3". depmod
 * lists the indirect dependencies too. Each module in the line must be loaded after the modules
 * that are further right, so the line is read from its end, as modprobe does.
 */
static int add_module_line(struct module_list *list, const char *line, struct error *err)
{
	size_t len = strcspn(line, "\n"), path = strcspn(line, ":"), end = len;

	while (end > path + 1) {
		size_t start = end;
		while (start > path + 1 && line[start - 1] != ' ')
			start--;
		if (start < end && add_path(list, line + start, end - start, err) < 0)
			return -1;
		end = start > path + 1 ? start - 1 : start;
	}
	return add_path(list, line, path, err);
}

int modules_resolve(const char *dep, const char *builtin, const char *const *names,
		    struct module_list *out, struct error *err)
{
	struct module_list list = {0};

	for (; *names; names++) {
		const char *line = find_line(dep, *names, ':');
		int result = 0;

		if (line)
			result = add_module_line(&list, line, err);
		else if (!find_line(builtin, *names, '\n'))
			result = error_set(
				err, ERR_NOT_FOUND,
				"this kernel does not have the module %s, which a guest needs: choose a kernel of Debian's, or build one",
				*names);
		if (result < 0) {
			module_list_free(&list);
			return -1;
		}
	}
	*out = list;
	return 0;
}

static int compare_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds the parent directories of the path `name`, except those that are also parents of the path
 * `before`. Because the paths are sorted, each directory is added only once, and before its
 * contents. */
static int add_dirs(struct cpio *cpio, const char *name, const char *before, struct error *err)
{
	autofree char *dir = strdup(name);

	if (!dir)
		return error_errno(err, ENOMEM, "%s", name);
	for (char *p = strchr(dir, '/'); p; p = strchr(p + 1, '/')) {
		size_t len = (size_t)(p - dir) + 1;
		if (strncmp(dir, before, len) == 0)
			continue;
		*p = '\0';
		if (cpio_dir(cpio, dir, 0755, err) < 0)
			return -1;
		*p = '/';
	}
	return 0;
}

/* Copies the modules from lib/modules in the directory `root` to the directory /modules of the
 * initramfs. The guest frees the memory of the initramfs after it has loaded the modules. */
static int add_modules(struct cpio *cpio, int root, const char *version,
		       const struct module_list *list, struct error *err)
{
	autofree char **sorted = calloc(list->count + 1, sizeof(*sorted));
	autofree char *before = strdup("");

	if (!sorted || !before)
		return error_errno(err, ENOMEM, "list of modules");
	for (size_t i = 0; i < list->count; i++)
		sorted[i] = list->paths[i];
	qsort(sorted, list->count, sizeof(*sorted), compare_text);
	for (size_t i = 0; i < list->count; i++) {
		autobuf struct buf name = BUF_INIT(0), path = BUF_INIT(0);

		if (buf_printf(&name, err, "modules/%s/%s", version, sorted[i]) < 0 ||
		    buf_printf(&path, err, "lib/%s", buf_string(&name)) < 0)
			return -1;
		autoclose int fd = below_open(root, buf_string(&path), err);
		if (fd < 0 || add_dirs(cpio, buf_string(&name), before, err) < 0 ||
		    cpio_file(cpio, buf_string(&name), 0644, fd, err) < 0)
			return -1;
		free(before);
		before = buf_steal_string(&name, err);
		if (!before)
			return -1;
	}
	return 0;
}

static int write_segment(int root, const char *version, const struct module_list *list, int fd,
			 struct error *err)
{
	autobuf struct buf order = BUF_INIT(0);
	struct cpio *cpio;

	for (size_t i = 0; i < list->count; i++)
		if (buf_printf(&order, err, "/modules/%s/%s\n", version, list->paths[i]) < 0)
			return -1;
	cpio = cpio_open(fd, err);
	if (!cpio)
		return -1;
	if (add_modules(cpio, root, version, list, err) < 0 ||
	    cpio_bytes(cpio, "modules.list", 0644, buf_bytes(&order), order.len, err) < 0) {
		cpio_abandon(cpio);
		return -1;
	}
	return cpio_close(cpio, err);
}

static int read_module_list(int root, const char *version, const char *name, struct buf *out,
			    struct error *err)
{
	autobuf struct buf path = BUF_INIT(0);

	if (buf_printf(&path, err, "lib/modules/%s/%s", version, name) < 0)
		return -1;
	return below_read(root, buf_string(&path), out, err);
}

int modules_segment(const struct tool_cell *cell, int root, const char *version,
		    enum architecture architecture, int fd, struct error *err)
{
	const char *const argv[] = {"depmod", "-b", cell->out, version, NULL};
	const struct tool depmod = {.argv = argv};
	autobuf struct buf dep = BUF_INIT(TEXT_BYTES), builtin = BUF_INIT(TEXT_BYTES);
	struct module_list list = {0};
	int result;

	if (cell_run(cell, &depmod, err) < 0 ||
	    read_module_list(root, version, "modules.dep", &dep, err) < 0 ||
	    read_module_list(root, version, "modules.builtin", &builtin, err) < 0 ||
	    modules_resolve(buf_string(&dep), buf_string(&builtin), guest_modules(architecture),
			    &list, err) < 0)
		return error_prefix(err, "modules of kernel %s", version);
	result = write_segment(root, version, &list, fd, err);
	module_list_free(&list);
	return result < 0 ? error_prefix(err, "modules of kernel %s", version) : 0;
}
