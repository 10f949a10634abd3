/* SPDX-License-Identifier: MIT */
/*
 * Puts an existing kernel into the cache. The kernel is Debian's cloud kernel, which is downloaded
 * but not installed on the host, or a file of the user. If the cache already has a kernel of
 * Debian, this program searches the package only if the user asks for a newer one. So a second call
 * takes no time and needs no network.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/apt.h"
#include "artifact/artifact.h"
#include "artifact/below.h"
#include "artifact/kernel.h"
#include "artifact/modules.h"
#include "artifact/progress.h"
#include "base/architecture.h"
#include "base/cleanup.h"
#include "base/path.h"

#define UNPACK_BYTES (256ull << 20)

static const char *const cloud_packages[ARCHITECTURE_COUNT] = {
	[ARCHITECTURE_AMD64] = "linux-image-cloud-amd64",
	[ARCHITECTURE_ARM64] = "linux-image-cloud-arm64",
};

/* Checks that a file is a kernel for the architecture; ARCHITECTURE_COUNT: for any architecture.
 * Sets *out to the architecture in the kernel's file. A kernel that does not name an architecture
 * counts as a kernel for this host. */
static int check_kernel(int fd, const char *path, enum architecture architecture,
			enum architecture *out, struct error *err)
{
	enum architecture own;
	bool is_kernel;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(
			err, ERR_INVALID,
			"%s is not a regular file: give the file of a kernel or of a package",
			path);
	if (architecture_read_kernel(fd, &is_kernel, &own, err) < 0)
		return error_prefix(err, "%s", path);
	if (!is_kernel)
		return error_set(
			err, ERR_INVALID,
			"%s is not a kernel: neither a bzImage, an ELF image nor an arm64 Image",
			path);
	if (own == ARCHITECTURE_COUNT)
		own = architecture_of_host();
	if (architecture != ARCHITECTURE_COUNT && own != architecture)
		return error_set(
			err, ERR_UNSUPPORTED,
			"%s is a kernel for %s, not for %s: give another kernel, or another architecture",
			path, architecture_name(own), architecture_name(architecture));
	*out = own;
	return 0;
}

/* Returns the version of the kernel in an unpacked package: the end of the file name
 * boot/vmlinuz-<version>. The caller frees the version. */
static char *unpacked_release(int root, struct error *err)
{
	struct error why = {0};
	int boot = below_open_dir(root, "boot", &why);
	autodir DIR *dir = boot < 0 ? NULL : fdopendir(boot);
	struct dirent *entry;

	if (boot >= 0 && !dir)
		close(boot);
	while (dir && (entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, "vmlinuz-", 8) != 0 || !entry->d_name[8])
			continue;
		if (!deb_is_plain_name(entry->d_name + 8)) {
			error_set(
				err, ERR_INVALID,
				"the package's kernel boot/%s does not end with a plain release, as boot/vmlinuz-6.1.0-1-amd64 does: give another package",
				entry->d_name);
			return NULL;
		}
		char *release = strdup(entry->d_name + 8);
		if (!release)
			error_errno(err, ENOMEM, "boot");
		return release;
	}
	error_set(
		err, ERR_INVALID,
		"the package has no file boot/vmlinuz-*, so it is not the package of a kernel: give a package like linux-image-6.1.0-1-amd64");
	return NULL;
}

static char *debian_name(const struct deb *deb, struct error *err)
{
	autobuf struct buf name = BUF_INIT(0);

	if (buf_printf(&name, err, "%s-%s", kernel_kind_name(KERNEL_DEBIAN), deb->version) < 0)
		return NULL;
	return cache_entry_name(buf_string(&name), deb->architecture, err);
}

/* Makes the entry in the cache from an unpacked package. */
static int take_package(const struct artifact_options *opts, const struct place *place,
			const struct deb *deb, const char *name, const char *init,
			struct error *err)
{
	static const char *const files[] = {"boot/vmlinuz-", "lib/modules/", NULL};
	const struct tool_cell cell = {.dir = place->scratch,
				       .out = "root",
				       .temporary = "tmp",
				       .unconfined = opts->unconfined,
				       .vouched = deb->vouched};
	autoclose int root = place_subdir(place, cell.out, err);
	autoclose int temporary = root < 0 ? -1 : place_subdir(place, cell.temporary, err);
	autobuf struct buf kernel = BUF_INIT(0);
	autoclose int from = -1, modules = -1;
	autofree char *release = NULL;
	enum architecture own;

	if (temporary < 0 || deb_unpack(deb, root, files, err) < 0)
		return -1;
	release = unpacked_release(root, err);
	if (!release || buf_printf(&kernel, err, "boot/vmlinuz-%s", release) < 0)
		return -1;
	from = below_open(root, buf_string(&kernel), err);
	if (from < 0 || check_kernel(from, buf_string(&kernel), deb->architecture, &own, err) < 0 ||
	    path_clone_file_at(from, place->scratch_fd, KERNEL_FILE, 0644, NULL, err) < 0)
		return -1;
	modules = openat(place->scratch_fd, MODULES_FILE,
			 O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (modules < 0)
		return error_errno(err, errno, "%s/" MODULES_FILE, place->scratch);
	if (modules_segment(&cell, root, release, own, modules, err) < 0)
		return -1;
	struct kernel_entry entry = {.name = name,
				     .version = deb->version,
				     .kind = KERNEL_DEBIAN,
				     .modules = true,
				     .package_sha256 = deb->sha256,
				     .for_pvm = opts->for_pvm,
				     .release = release,
				     .architecture = own};
	return kernel_publish(place, &entry, init, err);
}

static int install_package(const struct artifact_options *opts, const struct place *place,
			   const struct apt *apt, struct deb *deb, struct error *err)
{
	autofree char *init = artifact_init_path(opts, deb->architecture, err);
	autofree char *name = init ? debian_name(deb, err) : NULL;
	autofree char *there = NULL;

	if (!name)
		return -1;
	/* Another process may have installed the kernel while this process waited for the lock. */
	there = kernel_installed(name, deb->architecture);
	if (there && kernel_is_of(name, deb->architecture, deb->sha256) && !opts->rebuild &&
	    !opts->for_pvm)
		return kernel_refresh_all(init, deb->architecture, NULL, err);
	if (place_require_space(place, UNPACK_BYTES, err) < 0)
		return -1;
	if (!deb->file && apt_fetch(apt, deb, place->scratch, err) < 0)
		return -1;
	return take_package(opts, place, deb, name, init, err);
}

/* Installs a package, and prints the resulting entry of the cache. */
static int install_deb(const struct artifact_options *opts, const struct place *place,
		       const struct apt *apt, struct deb *deb, struct error *err)
{
	autofree char *name = debian_name(deb, err);
	autofree char *before = name ? kernel_installed(name, deb->architecture) : NULL;
	bool other = before && !kernel_is_of(name, deb->architecture, deb->sha256);

	if (!name || install_package(opts, place, apt, deb, err) < 0)
		return error_prefix(err, "kernel %s", deb->package);
	return kernel_answer(opts, name,
			     other ? "is installed; it replaces the kernel that had this name"
				   : "is installed",
			     err);
}

static int install_debian(const struct artifact_options *opts, enum architecture architecture,
			  struct error *err)
{
	autofree char *init = artifact_init_path(opts, architecture, err);
	autofree char *there = opts->upgrade ? NULL : kernel_installed("debian", architecture);
	auto_place struct place place = {0};
	auto_apt struct apt apt = {0};
	auto_deb struct deb deb = {0};

	if (!init)
		return -1;
	if (there && !opts->rebuild) {
		if (kernel_refresh_all(init, architecture, NULL, err) < 0)
			return -1;
		return kernel_answer(opts, there, "is installed (--upgrade looks for a newer one)",
				     err);
	}
	if (place_open(CACHE_KERNELS, "kernel-debian", &place, err) < 0 ||
	    apt_open(architecture, place.scratch, &apt, err) < 0 ||
	    apt_find_dependency(&apt, cloud_packages[architecture], &deb, err) < 0)
		return -1;
	return install_deb(opts, &place, &apt, &deb, err);
}

static int install_given_deb(const struct artifact_options *opts, enum architecture asked,
			     struct error *err)
{
	auto_place struct place place = {0};
	auto_deb struct deb deb = {0};

	if (deb_open(opts->from, &deb, err) < 0)
		return -1;
	if (deb.architecture == ARCHITECTURE_COUNT)
		return error_set(
			err, ERR_UNSUPPORTED,
			"%s is a package for neither amd64 nor arm64, and no machine could boot it: give another",
			opts->from);
	if (asked != ARCHITECTURE_COUNT && asked != deb.architecture)
		return error_set(
			err, ERR_UNSUPPORTED,
			"%s is a package for %s, not for %s: give one for that, or another architecture",
			opts->from, architecture_name(deb.architecture), architecture_name(asked));
	if (place_open(CACHE_KERNELS, "kernel-debian", &place, err) < 0)
		return -1;
	return install_deb(opts, &place, NULL, &deb, err);
}

static bool has_ending(const char *text, const char *end)
{
	size_t a = strlen(text), b = strlen(end);

	return a >= b && strcmp(text + a - b, end) == 0;
}

/* Installs a kernel file of the user. Such an entry has no modules, so all drivers that the kernel
 * needs to find its disk must be built into the kernel. */
static int install_file(const struct artifact_options *opts, enum architecture asked,
			struct error *err)
{
	const char *slash = strrchr(opts->from, '/');
	const char *given = opts->name ? opts->name : slash ? slash + 1 : opts->from;
	enum architecture own = ARCHITECTURE_COUNT;
	auto_place struct place place = {0};
	autofree char *init = NULL, *name = NULL;
	autoclose int fd = path_open_file(opts->from, err);

	if (fd < 0 || check_kernel(fd, opts->from, asked, &own, err) < 0 ||
	    cache_kernel_check_name(given, own, err) < 0 ||
	    !(init = artifact_init_path(opts, own, err)) ||
	    !(name = cache_entry_name(given, own, err)) ||
	    place_open(CACHE_KERNELS, "kernel-custom", &place, err) < 0 ||
	    path_clone_file_at(fd, place.scratch_fd, KERNEL_FILE, 0644, NULL, err) < 0)
		return -1;
	struct kernel_entry entry = {.name = name,
				     .version = "",
				     .kind = KERNEL_CUSTOM,
				     .for_pvm = opts->for_pvm,
				     .architecture = own};
	if (kernel_publish(&place, &entry, init, err) < 0)
		return error_prefix(err, "kernel %s", name);
	return kernel_answer(opts, name, "is installed", err);
}

/* Prints what would be downloaded. Only packages for the host's architecture are searched, because
 * lists for another architecture would have to be downloaded first. */
static int plan_debian(const struct artifact_options *opts, struct error *err)
{
	const struct apt apt = {.architecture = architecture_of_host()};
	auto_deb struct deb deb = {0};
	json_auto_t *answer = NULL;

	if (apt_find_dependency(&apt, cloud_packages[apt.architecture], &deb, err) < 0)
		return -1;
	answer = json_pack("{s:s,s:s,s:I}", "package", deb.package, "version", deb.version, "bytes",
			   (json_int_t)deb.bytes);
	if (!answer)
		return error_errno(err, ENOMEM, "answer");
	return artifact_answer(opts, answer, err, "%s %s, %llu MiB", deb.package, deb.version,
			       (unsigned long long)deb.bytes >> 20);
}

int artifact_kernel_install(const struct artifact_options *opts, struct error *err)
{
	enum architecture asked;

	if (opts->plan)
		return plan_debian(opts, err);
	if (opts->for_pvm && !opts->from)
		return error_set(err, ERR_INVALID, "--for-pvm needs --from");
	if (artifact_architecture(opts, opts->from ? ARCHITECTURE_COUNT : architecture_of_host(),
				  &asked, err) < 0)
		return -1;
	if (!opts->from)
		return install_debian(opts, asked, err);
	return has_ending(opts->from, ".deb") ? install_given_deb(opts, asked, err)
					      : install_file(opts, asked, err);
}
