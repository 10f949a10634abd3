/* SPDX-License-Identifier: MIT */
#include "backend/parts/virtiofsd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "backend/parts/host_facts.h"
#include "backend/parts/idmap.h"
#include "backend/parts/programs.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"
#include "base/proc.h"

/* The most descriptors that virtiofsd may have. virtiofsd has one descriptor for every file that
 * the guest knows. */
#define FILES_MAX 1000000u
#define ANSWER_MAX 4096

/* --- the kind of a virtiofsd ----------------------------------------------------------------- */

/* Finds the kind of virtiofsd from its answer to --version. The program in C prints "virtiofsd
 * version 7.2.22 (Debian ...)", and the program in Rust prints "virtiofsd 1.13.2". Returns -1 if
 * `text` has neither form. */
static int read_version(const char *text, enum virtiofsd_kind *out)
{
	int major = 0, minor = 0;

	/* NOLINTBEGIN(cert-err34-c): few digits each */
	if (sscanf(text, "virtiofsd version %3d.%3d", &major, &minor) == 2)
		*out = VIRTIOFSD_C;
	else if (sscanf(text, "virtiofsd %3d.%3d", &major, &minor) == 2)
		*out = VIRTIOFSD_RUST;
	else
		return -1;
	/* NOLINTEND(cert-err34-c) */
	return 0;
}

/* Asks the program for its version. The virtiofsd in C gives up its supplementary groups before it
 * reads its options, and ends if it may not do so. An ordinary user may do so only in a user
 * namespace. So the program is asked in a namespace like the one in which it serves. */
static int ask_version(const char *path, struct buf *answer, struct error *err)
{
	const char *const argv[] = {path, "--version", NULL};
	autoclose int userns = -1;
	struct idmap map;

	if (geteuid() != 0 &&
	    (idmap_find(-1, &map, err) < 0 || idmap_namespace(&map, &userns, err) < 0))
		return -1;
	return proc_run_in(userns, argv, answer, limit_deadline(LIMIT_CAPABILITIES_MS), err);
}

static int find_kind(const char *path, enum virtiofsd_kind *out, struct error *err)
{
	autobuf struct buf answer = BUF_INIT(ANSWER_MAX);
	char thing[HOST_THING_TEXT];
	struct host_facts facts;
	const char *text;

	host_thing(path, thing);
	host_facts_load(&facts);
	if (strcmp(facts.share_program, thing) == 0 && read_version(facts.share_said, out) == 0)
		return 0;
	if (ask_version(path, &answer, err) < 0)
		return -1;
	text = buf_string(&answer);
	if (read_version(text, out) < 0)
		return error_set(
			err, ERR_UNAVAILABLE,
			"the answer of %s to --version is not that of virtiofsd: name another program, or install virtiofsd again",
			path);
	snprintf(facts.share_program, sizeof(facts.share_program), "%s", thing);
	snprintf(facts.share_said, sizeof(facts.share_said), "%.*s", (int)strcspn(text, "\n"),
		 text);
	host_facts_store(&facts);
	return 0;
}

int virtiofsd_find(struct virtiofsd *out, struct error *err)
{
	struct virtiofsd found = {.path = program_virtiofsd(err)};

	if (!found.path)
		return -1;
	if (find_kind(found.path, &found.kind, err) < 0) {
		free(found.path);
		return -1;
	}
	*out = found;
	return 0;
}

void virtiofsd_free(struct virtiofsd *program)
{
	free(program->path);
	*program = (struct virtiofsd){0};
}

/* --- the options of a virtiofsd -------------------------------------------------------------- */

int virtiofsd_check(const struct virtiofsd *program, const struct virtiofsd_service *service,
		    struct error *err)
{
	if (program->kind == VIRTIOFSD_C)
		return 0;
	if (service->terms.timeout_seconds && !service->containers)
		return error_set(
			err, ERR_UNSUPPORTED,
			"timeoutSeconds: %s, the virtiofsd in Rust, has no option for it: leave timeoutSeconds out",
			program->path);
	if (service->terms.locks)
		return error_set(
			err, ERR_UNSUPPORTED,
			"locks: %s, the virtiofsd in Rust, does not support locks of the guest: leave locks out",
			program->path);
	return 0;
}

/* Adds the option -o with the source. In the value of -o, a comma begins the next option. So each
 * comma and each backslash of the path gets a backslash before it. */
static void add_source(struct argv *argv, const char *path)
{
	autofree char *escaped = malloc(2 * strlen(path) + 1);
	char *to = escaped;

	for (; escaped && *path; path++) {
		if (*path == ',' || *path == '\\')
			*to++ = '\\';
		*to++ = *path;
	}
	argv_add(argv, "-o");
	if (!escaped) {
		argv->failed = true;
		return;
	}
	*to = '\0';
	argv_addf(argv, "source=%s", escaped);
}

static void add_words(struct argv *argv, const char *const *words)
{
	for (; *words; words++)
		argv_add(argv, *words);
}

/* Adds the options of the virtiofsd in C. The cell is the sandbox, so a chroot inside the cell is
 * enough. A chroot needs no right to mount.
 *
 * In a directory of containers, files of two mounts may have the same inode number, and files of
 * images have capabilities. For any other directory the cell does not have CAP_SETFCAP. virtiofsd
 * ends if it lacks a capability of its own list, so the option modcaps=-setfcap removes CAP_SETFCAP
 * from this list. */
static void add_words_of_c(const struct virtiofsd_service *service, struct argv *argv)
{
	static const char *const always[] = {"-f", "-o", "sandbox=chroot", "-o", "log_level=err",
					     NULL};
	static const char *const locks[] = {"-o", "posix_lock", "-o", "flock", NULL};
	static const char *const containers[] = {"-o", "announce_submounts,xattr", NULL};
	static const char *const others[] = {"-o", "modcaps=-setfcap", NULL};

	add_words(argv, always);
	add_source(argv, service->source);
	argv_add(argv, "-o");
	argv_addf(argv, "cache=%s", share_cache_names[service->terms.cache]);
	add_words(argv, service->containers ? containers : others);
	if (service->terms.locks)
		add_words(argv, locks);
	if (service->terms.timeout_seconds) {
		argv_add(argv, "-o");
		argv_addf(argv, "timeout=%lld", (long long)service->terms.timeout_seconds);
	}
}

/* Adds the options of the virtiofsd in Rust. Handles of files would need CAP_DAC_READ_SEARCH over
 * the host's file system, which a cell does not have.
 *
 * A directory of containers should have the cache "always", with names that are kept for a second.
 * The virtiofsd in Rust cannot do that: with "always" it keeps names for a day. So the option is
 * "auto", with which virtiofsd keeps names for a second. */
static void add_words_of_rust(const struct virtiofsd_service *service, struct argv *argv)
{
	static const char *const always[] = {"--sandbox=chroot", "--log-level=error",
					     "--inode-file-handles=never", NULL};
	static const char *const containers[] = {"--announce-submounts", "--xattr", NULL};
	static const char *const others[] = {"--no-announce-submounts", "--modcaps=-setfcap", NULL};
	static const char *const caches[] = {[SHARE_CACHE_AUTO] = "auto",
					     [SHARE_CACHE_ALWAYS] = "always",
					     [SHARE_CACHE_NONE] = "never"};

	add_words(argv, always);
	argv_addf(argv, "--shared-dir=%s", service->source);
	argv_addf(argv, "--cache=%s",
		  caches[service->containers ? SHARE_CACHE_AUTO : service->terms.cache]);
	add_words(argv, service->containers ? containers : others);
}

void virtiofsd_arguments(const struct virtiofsd *program, const struct virtiofsd_service *service,
			 struct argv *argv)
{
	struct rlimit files = {0};
	rlim_t most = FILES_MAX;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max < most)
		most = files.rlim_max;
	argv_add(argv, program->path);
	argv_addf(argv, "--fd=%d", service->listen_fd);
	if (program->kind == VIRTIOFSD_C)
		add_words_of_c(service, argv);
	else
		add_words_of_rust(service, argv);
	argv_addf(argv, "--rlimit-nofile=%llu", (unsigned long long)most);
}

int virtiofsd_preload_open(struct error *err)
{
	return fd_memfd("virtiofsd-preload", virtiofsd_preload, virtiofsd_preload_len, err);
}
