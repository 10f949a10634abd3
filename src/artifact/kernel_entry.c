/* SPDX-License-Identifier: MIT */
/*
 * Makes the entries of kernels in the cache. The initrd of an entry contains microagent-init, which
 * changes with every build of microagent, while the kernel and its modules stay the same. So the
 * modules are also stored in a separate file. If the record has the digest of another
 * microagent-init than the current one, a new initrd is made from the stored modules and the
 * current microagent-init.
 */
#include "artifact/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "artifact/below.h"
#include "artifact/digest.h"
#include "artifact/initrd.h"
#include "artifact/pvm.h"
#include "artifact/vmlinux.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"

/* The name of the lock that a process holds while it replaces the files of an entry. */
#define PUBLISH_LOCK "kernels"

static int digest_scratch(const struct place *place, const char *file, char out[DIGEST_TEXT],
			  struct error *err)
{
	autofree char *path = place_scratch(place, file, err);

	return path ? digest_file(path, out, err) : -1;
}

static int put_initrd(const struct place *place, json_t *record, const char *init,
		      struct error *err)
{
	char initrd_sha[DIGEST_TEXT], init_sha[DIGEST_TEXT];

	if (digest_scratch(place, INITRD_FILE, initrd_sha, err) < 0 ||
	    digest_file(init, init_sha, err) < 0 ||
	    json_put_string(record, "initrdSha256", initrd_sha, err) < 0)
		return -1;
	return json_put_string(record, "initSha256", init_sha, err);
}

static json_t *new_kernel_record(const struct place *place, const struct kernel_entry *entry,
				 struct error *err)
{
	json_auto_t *record = json_object();
	char sha[DIGEST_TEXT];

	if (digest_scratch(place, KERNEL_FILE, sha, err) < 0 ||
	    json_put(record, "format", json_integer(1), err) < 0 ||
	    json_put_string(record, "name", entry->name, err) < 0 ||
	    json_put_string(record, "kind", kernel_kind_name(entry->kind), err) < 0 ||
	    json_put_string(record, "version", entry->version, err) < 0 ||
	    json_put_string(record, "architecture", architecture_name(entry->architecture), err) <
		    0 ||
	    json_put_string(record, "sha256", sha, err) < 0)
		return NULL;
	if (entry->release && json_put_string(record, "release", entry->release, err) < 0)
		return NULL;
	if (entry->package_sha256 && *entry->package_sha256 &&
	    json_put_string(record, "packageSha256", entry->package_sha256, err) < 0)
		return NULL;
	if (entry->config_sha256 &&
	    json_put_string(record, "configSha256", entry->config_sha256, err) < 0)
		return NULL;
	return json_incref(record);
}

#define UNPACKED "unpacked"

/* Unpacks a kernel in a separate directory. A hostile kernel may take over the process that unpacks
 * it, and could then change all files in this directory. So the kernel and the initrd are in
 * another directory. */
static int unpack(const struct place *place, const char *kernel, struct error *err)
{
	autoclose int dir = place_subdir(place, UNPACKED, err);
	autoclose int made = -1;

	if (dir < 0 || vmlinux_unpack(kernel, dir, VMLINUX_FILE, err) < 0)
		return -1;
	made = below_open(dir, VMLINUX_FILE, err);
	if (made < 0)
		return -1;
	if (renameat(dir, VMLINUX_FILE, place->scratch_fd, VMLINUX_FILE) < 0)
		return error_errno(err, errno, "%s/" VMLINUX_FILE, place->scratch);
	return 0;
}

/* Makes the unpacked kernel, which some VMMs need. If the kernel cannot be unpacked, returns 0 too,
 * because other VMMs can still boot the packed kernel. */
static int make_vmlinux(const struct place *place, const char *kernel, json_t *record,
			struct error *err)
{
	struct error why = {0};
	bool unpacked = unpack(place, kernel, &why) == 0;
	char sha[DIGEST_TEXT];

	if (path_remove_tree_at(place->scratch_fd, UNPACKED, err) < 0)
		return -1;
	if (!unpacked)
		return why.code == ERR_UNSUPPORTED || why.code == ERR_INVALID
			       ? 0
			       : error_copy(err, &why);
	return digest_scratch(place, VMLINUX_FILE, sha, err) < 0 ||
			       json_put_string(record, "vmlinuxSha256", sha, err) < 0
		       ? -1
		       : 1;
}

/* Removes a file of the old entry. If the new entry has no such file, it must not get the old one.
 * `end` is the suffix of the file's name. */
static int remove_part(const struct place *place, const char *name, const char *end,
		       struct error *err)
{
	autobuf struct buf file = BUF_INIT(0);

	if (buf_printf(&file, err, "%s%s", name, end) < 0)
		return -1;
	if (unlinkat(place->dir_fd, buf_string(&file), 0) < 0 && errno != ENOENT)
		return error_errno(err, errno, "remove %s/%s", place->dir, buf_string(&file));
	return 0;
}

static int publish_files(const struct place *place, const struct kernel_entry *entry,
			 const json_t *record, struct error *err)
{
	autoclose int lock = place_exclusive(place, PUBLISH_LOCK, err);

	if (lock < 0 || place_withdraw(place, entry->name, err) < 0 ||
	    place_publish(place, KERNEL_FILE, entry->name, "", err) < 0 ||
	    remove_part(place, entry->name, ".modules", err) < 0 ||
	    remove_part(place, entry->name, ".vmlinux", err) < 0)
		return -1;
	if (faccessat(place->scratch_fd, VMLINUX_FILE, F_OK, 0) == 0 &&
	    place_publish(place, VMLINUX_FILE, entry->name, ".vmlinux", err) < 0)
		return -1;
	if (entry->modules && place_publish(place, MODULES_FILE, entry->name, ".modules", err) < 0)
		return -1;
	if (place_publish(place, INITRD_FILE, entry->name, ".initrd", err) < 0)
		return -1;
	return place_record(place, entry->name, record, err);
}

/* Records that the kernel is built for a PVM, if the user says so or if the kernel's code shows it.
 * Only a kernel for amd64 can be built for a PVM. */
static int put_for_pvm(const struct place *place, const struct kernel_entry *entry, json_t *record,
		       struct error *err)
{
	bool unpacked = faccessat(place->scratch_fd, VMLINUX_FILE, F_OK, 0) == 0;
	autofree char *path = place_scratch(place, unpacked ? VMLINUX_FILE : KERNEL_FILE, err);
	bool for_pvm = entry->for_pvm;

	if (!path)
		return -1;
	if (!for_pvm && entry->architecture == ARCHITECTURE_AMD64 &&
	    pvm_find_code(path, &for_pvm, err) < 0)
		return -1;
	return for_pvm ? json_put(record, "forPvm", json_true(), err) : 0;
}

int kernel_publish(const struct place *place, const struct kernel_entry *entry, const char *init,
		   struct error *err)
{
	autofree char *modules = place_scratch(place, MODULES_FILE, err);
	autofree char *kernel = modules ? place_scratch(place, KERNEL_FILE, err) : NULL;
	json_auto_t *record = NULL;

	if (!kernel)
		return -1;
	if (entry->for_pvm && entry->architecture != ARCHITECTURE_AMD64)
		return error_set(
			err, ERR_INVALID,
			"the kernel is for %s, but a paravirtual KVM (--for-pvm) runs only kernels for amd64: give such a kernel",
			architecture_name(entry->architecture));
	if (initrd_make(place, init, entry->architecture, entry->modules ? modules : NULL, err) < 0)
		return -1;
	record = new_kernel_record(place, entry, err);
	if (!record || put_initrd(place, record, init, err) < 0 ||
	    (vmlinux_is_packed(kernel) && make_vmlinux(place, kernel, record, err) < 0) ||
	    put_for_pvm(place, entry, record, err) < 0)
		return -1;
	return publish_files(place, entry, record, err);
}

static bool lacks_vmlinux(const struct cache_kernel *kernel)
{
	return (!kernel->vmlinux || !*kernel->vmlinux_sha256) && vmlinux_is_packed(kernel->path);
}

static int refresh(const struct place *place, const struct cache_kernel *kernel, const char *init,
		   struct error *err)
{
	json_auto_t *record = place_read_record(place, kernel->name, err);

	if (!record)
		return error_prefix(err, "%s/%s.json", place->dir, kernel->name);
	if (lacks_vmlinux(kernel)) {
		int made = make_vmlinux(place, kernel->path, record, err);

		if (made < 0 ||
		    (made && place_publish(place, VMLINUX_FILE, kernel->name, ".vmlinux", err) < 0))
			return -1;
	}
	if (initrd_make(place, init, kernel->architecture, kernel->modules, err) < 0 ||
	    put_initrd(place, record, init, err) < 0 ||
	    place_publish(place, INITRD_FILE, kernel->name, ".initrd", err) < 0)
		return -1;
	return place_record(place, kernel->name, record, err);
}

/* A microagent-init, and the architecture for which it was built. */
struct own_init {
	const char *path;
	enum architecture architecture;
	char sha256[DIGEST_TEXT];
};

/* Returns true if the kernel has an initrd whose digest is the recorded one. */
static bool has_recorded_initrd(const struct cache_kernel *kernel)
{
	char digest[DIGEST_TEXT];

	return kernel->initrd && digest_file(kernel->initrd, digest, NULL) == 0 &&
	       strcmp(digest, kernel->initrd_sha256) == 0;
}

static bool is_fresh(const struct cache_kernel *kernel, const struct own_init *init)
{
	return kernel->architecture != init->architecture ||
	       (strcmp(kernel->init_sha256, init->sha256) == 0 && has_recorded_initrd(kernel) &&
		!lacks_vmlinux(kernel));
}

/* Refreshes the initrds that contain an older microagent-init. The list of kernels is read after
 * the lock was taken, because another process may have refreshed initrds while this process waited
 * for the lock. */
static int refresh_stale(const struct own_init *init, size_t *count, struct error *err)
{
	auto_place struct place place = {0};
	struct cache_kernels list = {0};
	int result = 0;

	if (place_open(CACHE_KERNELS, "kernel-refresh", &place, err) < 0)
		return -1;
	autoclose int lock = place_exclusive(&place, PUBLISH_LOCK, err);
	if (lock < 0 || cache_kernels(&list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count && result == 0; i++) {
		if (is_fresh(&list.items[i], init))
			continue;
		result = refresh(&place, &list.items[i], init->path, err);
		*count += result == 0;
	}
	cache_kernels_free(&list);
	return result;
}

int kernel_refresh_all(const char *init, enum architecture architecture, size_t *count,
		       struct error *err)
{
	struct own_init own = {.path = init, .architecture = architecture};
	struct cache_kernels list = {0};
	size_t done = 0;
	bool fresh = true;

	if (digest_file(init, own.sha256, err) < 0 || cache_kernels(&list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.count && fresh; i++)
		fresh = is_fresh(&list.items[i], &own);
	cache_kernels_free(&list);
	if (!fresh && refresh_stale(&own, &done, err) < 0)
		return -1;
	if (count)
		*count = done;
	return 0;
}

/* Returns the architecture of a microagent-init. If the file is not a program, returns the host's
 * architecture. A later check of the file then reports the error. */
static enum architecture architecture_of_init(const char *path)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned char head[64];
	ssize_t n = fd < 0 ? 0 : read(fd, head, sizeof(head));
	enum architecture says = architecture_of_program(head, n < 0 ? 0 : (size_t)n);

	return says == ARCHITECTURE_COUNT ? architecture_of_host() : says;
}

/* The results of `kernel refresh`. */
struct refreshed {
	size_t count;	  /* the number of initrds that were refreshed */
	struct buf left;  /* the names of the kernels whose microagent-init is missing: "a, b" */
	struct error why; /* the error about the first missing microagent-init */
};

static int refresh_kernels_of(const struct artifact_options *opts, const struct cache_kernels *list,
			      enum architecture architecture, struct refreshed *done,
			      struct error *err)
{
	struct error why = {0};
	autofree char *init = artifact_init_path(opts, architecture, &why);
	size_t count = 0;

	if (!init) {
		if (done->why.code == ERR_NONE)
			done->why = why;
		for (size_t i = 0; i < list->count; i++)
			if (list->items[i].architecture == architecture &&
			    buf_printf(&done->left, err, "%s%s", done->left.len ? ", " : "",
				       list->items[i].name) < 0)
				return -1;
		return 0;
	}
	if (opts->init && architecture_of_init(init) != architecture)
		return 0;
	if (kernel_refresh_all(init, architecture, &count, err) < 0)
		return -1;
	done->count += count;
	return 0;
}

/* Refreshes the kernels in the list. Begins with the kernels for the host's architecture, because
 * most machines boot one of these. */
static int refresh_kernels(const struct artifact_options *opts, const struct cache_kernels *list,
			   struct refreshed *done, struct error *err)
{
	enum architecture last = architecture_of_host();

	if (refresh_kernels_of(opts, list, last, done, err) < 0)
		return -1;
	for (size_t i = 0; i < list->count; i++) {
		if (list->items[i].architecture == last ||
		    list->items[i].architecture == ARCHITECTURE_COUNT)
			continue;
		last = list->items[i].architecture;
		if (refresh_kernels_of(opts, list, last, done, err) < 0)
			return -1;
	}
	return 0;
}

static int answer_refreshed(const struct artifact_options *opts, struct refreshed *done,
			    struct error *err)
{
	json_auto_t *answer = json_object();
	const char *s = done->count == 1 ? "" : "s";

	if (done->why.code != ERR_NONE) {
		error_copy(err, &done->why);
		return done->left.len
			       ? error_prefix(
					 err,
					 "%zu initrd%s rewritten, but the initrd of %s was not",
					 done->count, s, buf_string(&done->left))
			       : -1;
	}
	if (json_put(answer, "refreshed", json_integer((json_int_t)done->count), err) < 0)
		return -1;
	return artifact_answer(opts, answer, err, "%zu initrd%s rewritten", done->count, s);
}

int artifact_kernel_refresh(const struct artifact_options *opts, struct error *err)
{
	struct refreshed done = {.left = BUF_INIT(0)};
	struct cache_kernels list = {0};
	int result = cache_kernels(&list, err);

	if (result == 0)
		result = refresh_kernels(opts, &list, &done, err);
	if (result == 0)
		result = answer_refreshed(opts, &done, err);
	cache_kernels_free(&list);
	buf_free(&done.left);
	return result;
}

char *kernel_installed(const char *name, enum architecture architecture)
{
	struct cache_kernel kernel = {0};
	struct error none;
	char *found = NULL;

	if (cache_kernel_find(name, architecture, &kernel, &none) < 0)
		return NULL;
	if (kernel.cached && access(kernel.path, R_OK) == 0)
		found = steal_ptr(&kernel.name);
	cache_kernel_free(&kernel);
	return found;
}

bool kernel_is_of(const char *name, enum architecture architecture, const char *package_sha256)
{
	struct cache_kernel kernel = {0};
	struct error none;
	bool same;

	if (!*package_sha256 || cache_kernel_find(name, architecture, &kernel, &none) < 0)
		return false;
	same = kernel.cached && strcmp(kernel.name, name) == 0 &&
	       strcmp(kernel.package_sha256, package_sha256) == 0;
	cache_kernel_free(&kernel);
	return same;
}

int kernel_answer(const struct artifact_options *opts, const char *name, const char *what,
		  struct error *err)
{
	struct cache_kernel kernel = {0};
	json_auto_t *answer = json_object();
	int result = -1;

	if (cache_kernel_find(name, ARCHITECTURE_COUNT, &kernel, err) < 0)
		return -1;
	if (json_put_string(answer, "name", kernel.name, err) == 0 &&
	    json_put_string(answer, "path", kernel.path, err) == 0 &&
	    json_put_string(answer, "architecture", architecture_name(kernel.architecture), err) ==
		    0 &&
	    json_put_string(answer, "sha256", kernel.sha256, err) == 0 &&
	    (!kernel.for_pvm || json_put(answer, "forPvm", json_true(), err) == 0))
		result = artifact_answer(
			opts, answer, err, "%s %s%s", kernel.name, what,
			kernel.for_pvm ? "; it is built for a paravirtual KVM (kvm_pvm)" : "");
	cache_kernel_free(&kernel);
	return result;
}
