/* SPDX-License-Identifier: MIT */
/*
 * microagent-artifact: the program that has all code which needs a library for hashes, archives or
 * file systems, or a foreign build tool. So the programs that start a machine are not linked with
 * these libraries. The program is run by hand, by `make setup`, and by libmicroagent (for
 * `microagent kernel` and `microagent image`). It ends when its work is done.
 */
#ifndef ARTIFACT_ARTIFACT_H
#define ARTIFACT_ARTIFACT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/architecture.h"
#include "base/error.h"

/* The values of a command's options; NULL or false for an option that was not given. */
struct artifact_options {
	/* all commands: print one JSON document on stdout instead of text */
	bool json;
	/* kernel-install, kernel-build: look for a newer version even if the cache has a kernel of
	 * this kind */
	bool upgrade;
	/* kernel-install, kernel-build, image-build, image-import: make the result even if the
	 * cache has it already */
	bool rebuild;
	/* kernel-install: only say what would be fetched */
	bool plan;
	/* kernel-install: the kernel is built for a PVM (pvm.h) */
	bool for_pvm;
	/* run these tools in no cell: depmod (kernel-install), the tools that build the kernel
	 * (kernel-build), skopeo (image-import) */
	bool unconfined;
	/* sha256, init-sha256: the number of the descriptor to read; bundle-build: the number of
	 * the descriptor to write to */
	const char *fd;
	/* bundle-build: the number of a descriptor on which `from` is open */
	const char *from_fd;
	/* initrd: the file to write; default: a file in the cache */
	const char *out;
	/* initrd, kernel-install, kernel-build, kernel-refresh: the file microagent-init; default:
	 * the file beside the executable */
	const char *init;
	/* initrd: a file with the part of the initramfs that has the modules */
	const char *modules;
	/* kernel-install, kernel-build: a file that is used instead of Debian's package;
	 * bundle-build: the archive */
	const char *from;
	/* kernel-install: the name that a kernel file gets in the cache */
	const char *name;
	/* image-import: the size of the disk in MiB */
	const char *size;
	/* initrd, kernel-install, kernel-build, image-build, image-import, image-remove: the
	 * architecture of the machines; default: that of this host, or with kernel-install that of
	 * the file `from` */
	const char *arch;
	char *const *words; /* the remaining words of the command line */
	size_t word_count;
};

/*
 * The function of a command. It does the work, prints the answer on stdout and returns 0, or -1
 * with `err` set. Only main() prints errors.
 */
typedef int artifact_fn(const struct artifact_options *opts, struct error *err);
artifact_fn artifact_sha256, artifact_init_sha256, artifact_initrd, artifact_kernel_install,
	artifact_kernel_build, artifact_kernel_refresh, artifact_image_build, artifact_image_import,
	artifact_image_remove, artifact_bundle_build;

/* Sets *out to the architecture of --arch, or to `otherwise` without --arch. */
int artifact_architecture(const struct artifact_options *opts, enum architecture otherwise,
			  enum architecture *out, struct error *err);
/* Returns the path of the microagent-init of an architecture: the value of --init, else the path of
 * the file beside the executable. The caller frees it. */
char *artifact_init_path(const struct artifact_options *opts, enum architecture architecture,
			 struct error *err);
/* Returns the descriptor that --fd names, or -1 with an error. */
int artifact_fd(const struct artifact_options *opts, struct error *err);
/* Returns the descriptor that --from-fd names, moved to its beginning. Without --from-fd, opens
 * `from` and returns its descriptor. Returns -1 with an error. */
int artifact_open_from(const struct artifact_options *opts, struct error *err);
/* Prints the answer: the text, or with --json the object, which is borrowed. */
int artifact_answer(const struct artifact_options *opts, const json_t *object, struct error *err,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/*
 * From this call on SIGINT, SIGTERM and SIGHUP are only recorded. Long work checks for a recorded
 * signal, cleans up and returns an error. main() then ends by that signal, so that the caller of
 * the program sees by which signal the program ended.
 */
void artifact_catch_signals(void);
/* Returns -1 with ERR_UNAVAILABLE "interrupted" if a signal has come. */
int artifact_check_signal(struct error *err);
void artifact_end_by_signal(void); /* returns only if no signal has come */

#endif
