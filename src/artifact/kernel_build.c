/* SPDX-License-Identifier: MIT */
/*
 * Builds the tuned kernel from Debian's kernel source. The configuration is
 * images/kernel/tuned.config, or tuned-arm64.config, for which a cross compiler can be used. The
 * source is unpacked in <cache>/build/linux-<version>-<digest>. The source stays there until the
 * kernel is installed, so that an interrupted build can be continued. The name has the digest of
 * the package, because another package may have the same version. User, host and time in the
 * kernel's banner are fixed, so that two builds with the same compiler give the same bytes.
 *
 * The build runs programs from the source, which may be hostile. So tar, make and strip run in a
 * cell. The directory of a source has the subdirectory `tree` for the source, and `tmp` for
 * temporary files. The cell shows only these two subdirectories. The cell does not show their
 * parent directory, because there is the stamp that says that the source is complete. This program
 * trusts no file in the tree, and opens such files as it opens files of other users (below.h). The
 * tools get paths that are relative to the parent directory, so that the paths are the same with
 * and without the cell.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "artifact/apt.h"
#include "artifact/artifact.h"
#include "artifact/below.h"
#include "artifact/cell.h"
#include "artifact/digest.h"
#include "artifact/kconfig.h"
#include "artifact/kernel.h"
#include "artifact/progress.h"
#include "artifact/recipes.h"
#include "artifact/tool.h"
#include "base/cleanup.h"
#include "base/path.h"

/* The name of a meta package of Debian, which depends on the package with the kernel's source for
 * the host's release of Debian. The name of that package begins with SOURCE_PREFIX. */
#define SOURCE_PACKAGE "linux-source"
#define SOURCE_PREFIX SOURCE_PACKAGE "-"
#define BUILD_BYTES (4ull << 30)
#define CONFIG_BYTES (4u << 20)
/* The source package is the same for every architecture. */
static const struct apt system_apt = {.architecture = ARCHITECTURE_COUNT};
#define TREE "tree"
#define TEMPORARY "tmp"
#define STRIPPED "stripped"
/* The name of an empty file beside the source tree. The file exists if the source was unpacked
 * completely. No program from the source can write to the directory of this file. */
#define STAMP "unpacked"
/* The number of lines that make prints for this configuration. Only the percentage in the progress
 * line depends on this number. */
#define BUILD_LINES 2100

/* How the kernel of an architecture is built. */
static const struct flavour {
	const char *arch;   /* make's name for the architecture */
	const char *prefix; /* prefix of the cross compiler's name, for a host of another
			     * architecture */
	const char *target, *image;
	const char *config;
	/* True: machines boot the ELF file without its symbols. A VMM enters its code by the PVH
	 * note, and the code need not be unpacked at each boot. False: machines boot the file that
	 * make builds. */
	bool stripped;
	const char *const *tools;
} flavours[ARCHITECTURE_COUNT] = {
	[ARCHITECTURE_AMD64] = {"ARCH=x86", "x86_64-linux-gnu-", "vmlinux", "vmlinux",
				recipe_tuned_config, true,
				(const char *const[]){"make", "gcc", "ld", "flex", "bison", "bc",
						      "perl", "tar", "xz", "strip", "gelf.h",
						      NULL}},
	[ARCHITECTURE_ARM64] = {"ARCH=arm64", "aarch64-linux-gnu-", "Image",
				"arch/arm64/boot/Image", recipe_tuned_arm64_config, false,
				(const char *const[]){"make", "gcc", "aarch64-linux-gnu-gcc",
						      "flex", "bison", "bc", "perl", "tar", "xz",
						      NULL}},
};

struct build {
	const struct flavour *flavour;
	enum architecture architecture;
	struct place *place;
	struct deb *source;
	char *name;   /* name of the source, linux-<version>-<digest> */
	char *path;   /* path of the source's directory, <cache>/build/<name> */
	int builds;   /* descriptor of the directory <cache>/build */
	int own, dir; /* descriptors of the directory at `path`, and of the directory `tree` in
		       * it */
	struct tool_cell cell;
	size_t lines;
};

static void free_build(struct build *b)
{
	free(b->name);
	free(b->path);
	cleanup_close(&b->dir);
	cleanup_close(&b->own);
	cleanup_close(&b->builds);
}
#define auto_build __attribute__((cleanup(free_build)))

/* Removes the variables of make and of Kconfig from the environment. If `make` runs this program,
 * it has set some of these variables, and they would change the build of the kernel. */
static void clean_environment(void)
{
	static const char *const names[] = {"MAKEFLAGS",      "MFLAGS",	      "MAKELEVEL",
					    "MAKEOVERRIDES",  "ARCH",	      "CROSS_COMPILE",
					    "KBUILD_OUTPUT",  "KCFLAGS",      "KAFLAGS",
					    "KCONFIG_CONFIG", "LOCALVERSION", "O"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unsetenv(names[i]);
}

static int open_build_dirs(struct build *b, struct error *err)
{
	b->own = path_open_dir_at(b->builds, b->name, true, 0700, err);
	if (b->own < 0)
		return -1;
	b->dir = path_open_dir_at(b->own, TREE, true, 0700, err);
	autoclose int temporary =
		b->dir < 0 ? -1 : path_open_dir_at(b->own, TEMPORARY, true, 0700, err);
	return temporary < 0 ? -1 : 0;
}

/* Unpacks the source. `path` is the path of the source's archive, relative to the directory
 * `root`. */
static int unpack_tree(const struct build *b, int root, const char *path, struct error *err)
{
	const char *argv[] = {"tar", "-xJf", "-", "-C", TREE, "--no-same-owner", NULL};
	autoclose int archive = below_open(root, path, err);
	const struct tool tar = {
		.argv = argv, .stdin_fd = archive, .idle = true, .hold = b->place->lock};
	struct stat st;

	if (archive < 0)
		return -1;
	progress_stage("unpacking the kernel's source");
	if (cell_run(&b->cell, &tar, err) < 0)
		return -1;
	if (fstatat(b->dir, b->source->package, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(st.st_mode))
		return error_set(
			err, ERR_INVALID,
			"the archive of the kernel's sources, %s, has no directory %s, so it is damaged or another archive: fetch it again",
			b->source->file, b->source->package);
	return path_replace_file_at(b->own, STAMP, "", 0, 0644, PATH_NO_SYNC, err);
}

static int unpack_package(struct build *b, struct error *err)
{
	autobuf struct buf archive = BUF_INIT(0);
	autoclose int root = place_subdir(b->place, "root", err);

	if (root < 0 || open_build_dirs(b, err) < 0 ||
	    buf_printf(&archive, err, "src/%s.tar.xz", b->source->package) < 0)
		return -1;
	const char *const files[] = {buf_string(&archive), NULL};
	if (faccessat(b->own, STAMP, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (place_require_space(b->place, BUILD_BYTES, err) < 0)
		return -1;
	cleanup_close(&b->dir);
	cleanup_close(&b->own);
	if (path_remove_tree_at(b->builds, b->name, err) < 0 || open_build_dirs(b, err) < 0)
		return -1;
	if (!b->source->file && apt_fetch(&system_apt, b->source, b->place->scratch, err) < 0)
		return -1;
	if (deb_unpack(b->source, root, files, err) < 0)
		return -1;
	return unpack_tree(b, root, buf_string(&archive), err);
}

/* Appends the path of a file in the source to `out`. The argument `file` is relative to the
 * tree. */
static int put_source_path(const struct build *b, const char *file, struct buf *out,
			   struct error *err)
{
	return buf_printf(out, err, "%s/%s", b->source->package, file);
}

/* Writes the date of the source to `out`. This date is put into the kernel's banner instead of the
 * date of the build. */
static int banner_date(const struct build *b, char out[64], struct error *err)
{
	autobuf struct buf path = BUF_INIT(0);
	autoclose int makefile = -1;
	struct stat st;
	struct tm tm;

	if (put_source_path(b, "Makefile", &path, err) < 0)
		return -1;
	makefile = below_open(b->dir, buf_string(&path), err);
	if (makefile < 0)
		return -1;
	if (fstat(makefile, &st) < 0)
		return error_errno(err, errno, "%s", buf_string(&path));
	strftime(out, 64, "KBUILD_BUILD_TIMESTAMP=%Y-%m-%d", gmtime_r(&st.st_mtime, &tm));
	return 0;
}

static void count_line(void *data, const char *line)
{
	struct build *b = data;

	if (line[0] == ' ')
		progress_count(++b->lines, BUILD_LINES);
}

/* Runs make in the tree. `args` ends with NULL. */
static int run_make(struct build *b, const char *const *args, struct error *err)
{
	autobuf struct buf tree = BUF_INIT(0);
	autobuf struct buf cross = BUF_INIT(0);
	const char *argv[12] = {"make", "-C", NULL, "LOCALVERSION=", b->flavour->arch};
	size_t n = 5;
	char date[64];
	const char *env[] = {"LC_ALL=C",
			     "KBUILD_BUILD_USER=microagent",
			     "KBUILD_BUILD_HOST=microagent",
			     "KBUILD_BUILD_VERSION=1",
			     date,
			     NULL};
	/* If this program is killed, the child processes of make run on for a while. The child
	 * processes inherit the lock, so that no other process gets the lock before they have
	 * exited. */
	const struct tool make = {.argv = argv,
				  .env = env,
				  .idle = true,
				  .line = count_line,
				  .data = b,
				  .hold = b->place->lock};

	if (banner_date(b, date, err) < 0 ||
	    buf_printf(&tree, err, TREE "/%s", b->source->package) < 0)
		return -1;
	argv[2] = buf_string(&tree);
	if (b->architecture != architecture_of_host()) {
		if (buf_printf(&cross, err, "CROSS_COMPILE=%s", b->flavour->prefix) < 0)
			return -1;
		argv[n++] = buf_string(&cross);
	}
	for (size_t i = 0; args[i] && n + 1 < ARRAY_SIZE(argv); i++)
		argv[n++] = args[i];
	b->lines = 0;
	return cell_run(&b->cell, &make, err);
}

static int configure_kernel(struct build *b, struct error *err)
{
	static const char *const args[] = {"-s", "KCONFIG_ALLCONFIG=../tuned.config", "allnoconfig",
					   NULL};
	autobuf struct buf asked = BUF_INIT(CONFIG_BYTES);
	autobuf struct buf config = BUF_INIT(CONFIG_BYTES);
	autobuf struct buf path = BUF_INIT(0);

	if (kconfig_add_new_names(b->flavour->config, &asked, err) < 0 ||
	    path_replace_file_at(b->dir, "tuned.config", buf_bytes(&asked), asked.len, 0644,
				 PATH_NO_SYNC, err) < 0 ||
	    run_make(b, args, err) < 0 || put_source_path(b, ".config", &path, err) < 0 ||
	    below_read(b->dir, buf_string(&path), &config, err) < 0)
		return -1;
	return kconfig_verify(b->flavour->config, buf_string(&config), err);
}

static int compile(struct build *b, struct error *err)
{
	char jobs[16];
	const char *const args[] = {jobs, b->flavour->target, NULL};
	cpu_set_t cpus;

	snprintf(jobs, sizeof(jobs), "-j%d",
		 sched_getaffinity(0, sizeof(cpus), &cpus) == 0 ? CPU_COUNT(&cpus) : 1);
	progress_stage("building the tuned kernel");
	return run_make(b, args, err);
}

static int take_kernel(const struct build *b, struct error *err)
{
	static const char to[] = TREE "/" STRIPPED;
	autobuf struct buf image = BUF_INIT(0), from = BUF_INIT(0);
	autoclose int fd = -1;

	if (put_source_path(b, b->flavour->image, &image, err) < 0 ||
	    buf_printf(&from, err, TREE "/%s", buf_string(&image)) < 0)
		return -1;
	if (b->flavour->stripped) {
		const char *argv[] = {"strip", "-o", to, buf_string(&from), NULL};
		const struct tool strip = {.argv = argv};

		if (cell_run(&b->cell, &strip, err) < 0)
			return -1;
	}
	fd = below_open(b->dir, b->flavour->stripped ? STRIPPED : buf_string(&image), err);
	if (fd < 0)
		return -1;
	return path_clone_file_at(fd, b->place->scratch_fd, KERNEL_FILE, 0644, NULL, err);
}

static int publish_kernel(const struct build *b, const char *name, const char *config_sha,
			  const char *init, struct error *err)
{
	autobuf struct buf file = BUF_INIT(0);
	autobuf struct buf release = BUF_INIT(256);

	if (put_source_path(b, "include/config/kernel.release", &file, err) < 0 ||
	    below_read(b->dir, buf_string(&file), &release, err) < 0)
		return -1;
	if (release.len > 0 && buf_bytes(&release)[release.len - 1] == '\n')
		release.len--;
	if (!deb_is_plain_name(buf_string(&release)))
		return error_set(
			err, ERR_INVALID,
			"%s does not have the name of the kernel's release in it, as the kernel's build should have written: remove the directory of the build, and build again",
			buf_string(&file));
	struct kernel_entry entry = {.name = name,
				     .version = b->source->version,
				     .kind = KERNEL_TUNED,
				     .config_sha256 = config_sha,
				     .package_sha256 = b->source->sha256,
				     .release = buf_string(&release),
				     .architecture = b->architecture};
	return kernel_publish(b->place, &entry, init, err);
}

static int prepare_source(struct build *b, struct error *err)
{
	autofree char *name = NULL, *parent = NULL;

	if (asprintf(&name, "linux-%s-%.32s", b->source->version, b->source->sha256) < 0) {
		name = NULL;
		return error_errno(err, ENOMEM, "kernel");
	}
	b->name = cache_entry_name(name, b->architecture, err);
	parent = b->name ? path_join(b->place->cache, "build", err) : NULL;
	b->path = parent ? path_join(parent, b->name, err) : NULL;
	b->builds = b->path ? path_open_dir(parent, err) : -1;
	b->cell.dir = b->path;
	b->cell.out = TREE;
	b->cell.temporary = TEMPORARY;
	b->cell.vouched = b->source->vouched || !b->source->file;
	return b->builds < 0 ? -1 : 0;
}

static int build(struct place *place, struct deb *source, bool unconfined,
		 enum architecture architecture, const char *name, const char *config_sha,
		 const char *init, struct error *err)
{
	auto_build struct build b = {.place = place,
				     .source = source,
				     .builds = -1,
				     .own = -1,
				     .dir = -1,
				     .cell = {.unconfined = unconfined},
				     .architecture = architecture,
				     .flavour = &flavours[architecture]};
	struct error ignored;

	if (prepare_source(&b, err) < 0 || unpack_package(&b, err) < 0 ||
	    configure_kernel(&b, err) < 0 || compile(&b, err) < 0 || take_kernel(&b, err) < 0 ||
	    publish_kernel(&b, name, config_sha, init, err) < 0)
		return -1;
	progress_stage("tidying up");
	(void)path_remove_tree_at(b.builds, b.name, &ignored);
	return 0;
}

/* Returns the name of a tuned kernel in the cache that was built with the configuration whose
 * digest is `config_sha`. The caller frees the name. Returns NULL if the cache has no such
 * kernel. */
static char *built(const char *name, enum architecture architecture, const char *config_sha)
{
	struct cache_kernel kernel = {0};
	autofree char *found = kernel_installed(name, architecture);
	struct error none;
	bool same;

	if (!found || cache_kernel_find(found, architecture, &kernel, &none) < 0)
		return NULL;
	same = strcmp(kernel.config_sha256, config_sha) == 0;
	cache_kernel_free(&kernel);
	return same ? steal_ptr(&found) : NULL;
}

static int answer_built(const struct artifact_options *opts, enum architecture architecture,
			const char *name, const char *init, struct error *err)
{
	if (kernel_refresh_all(init, architecture, NULL, err) < 0)
		return -1;
	return kernel_answer(opts, name, "is built", err);
}

static int find_source(const struct artifact_options *opts, struct deb *source, struct error *err)
{
	if (!opts->from)
		return apt_find_dependency(&system_apt, SOURCE_PACKAGE, source, err);
	if (deb_open(opts->from, source, err) < 0)
		return -1;
	if (strncmp(source->package, SOURCE_PREFIX, strlen(SOURCE_PREFIX)) != 0)
		return error_set(
			err, ERR_INVALID,
			"%s is not a package of a kernel's sources: give a package linux-source-*",
			opts->from);
	return 0;
}

/* Builds the kernel under a lock. If two processes build the same kernel, the second one waits for
 * the lock, and then finds the kernel of the first one. */
static int build_locked(const struct artifact_options *opts, enum architecture architecture,
			const char *config_sha, const char *init, struct error *err)
{
	auto_place struct place place = {0};
	auto_deb struct deb source = {0};
	autofree char *there = NULL, *plain = NULL, *name = NULL;

	if (place_open(CACHE_KERNELS, "kernel-tuned", &place, err) < 0)
		return -1;
	there = opts->rebuild || opts->upgrade ? NULL : built("tuned", architecture, config_sha);
	if (there)
		return answer_built(opts, architecture, there, init, err);
	if (find_source(opts, &source, err) < 0)
		return -1;
	if (asprintf(&plain, "tuned-%s", source.version) < 0) {
		plain = NULL;
		return error_errno(err, ENOMEM, "kernel");
	}
	name = cache_entry_name(plain, architecture, err);
	if (!name)
		return -1;
	there = opts->rebuild ? NULL : built(name, architecture, config_sha);
	if (there && kernel_is_of(there, architecture, source.sha256))
		return answer_built(opts, architecture, there, init, err);
	if (tool_require("kernel build", flavours[architecture].tools, err) < 0 ||
	    build(&place, &source, opts->unconfined, architecture, name, config_sha, init, err) < 0)
		return -1;
	return kernel_answer(opts, name, "is built", err);
}

int artifact_kernel_build(const struct artifact_options *opts, struct error *err)
{
	enum architecture architecture;
	char config_sha[DIGEST_TEXT];
	autofree char *there = NULL, *init = NULL;

	if (artifact_architecture(opts, architecture_of_host(), &architecture, err) < 0 ||
	    !(init = artifact_init_path(opts, architecture, err)) ||
	    digest_bytes(flavours[architecture].config, strlen(flavours[architecture].config),
			 config_sha, err) < 0)
		return -1;
	there = opts->rebuild || opts->upgrade ? NULL : built("tuned", architecture, config_sha);
	if (there)
		return answer_built(opts, architecture, there, init, err);
	clean_environment();
	if (build_locked(opts, architecture, config_sha, init, err) < 0)
		return error_prefix(err, "kernel build");
	return 0;
}
