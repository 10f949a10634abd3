/* SPDX-License-Identifier: MIT */
/*
 * microagent-artifact: the program with all code that runs foreign tools for building, or uses a
 * library for hashes, archives or file systems. So the programs that start machines are not linked
 * with these libraries. Users, `make setup` and libmicroagent (for `microagent kernel` and
 * `microagent image`) run this program. The program exits when its work is done.
 */
#ifndef ARTIFACT_ARTIFACT_H
#define ARTIFACT_ARTIFACT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/architecture.h"
#include "base/error.h"

/* The values of a command's options. An option that was not given is NULL or false. */
struct artifact_options {
	/* option of all commands: print one JSON document on stdout and no text */
	bool json;
	/* option of kernel-install and kernel-build: look for a newer version even if the cache has
	 * a kernel of this kind */
	bool upgrade;
	/* option of kernel-install, kernel-build, image-build and image-import: make the result
	 * even if the cache already has it */
	bool rebuild;
	/* option of kernel-install: only print what would be downloaded */
	bool plan;
	/* option of kernel-install: the kernel is built for a PVM (pvm.h) */
	bool for_pvm;
	/* option that makes foreign tools run without a cell: depmod (kernel-install), the tools
	 * that build the kernel (kernel-build), or skopeo (image-import) */
	bool unconfined;
	/* option of sha256 and init-sha256: the number of the descriptor to read; option of
	 * bundle-build and review-build: the number of the descriptor to write to; option of
	 * review-extract: the number of a descriptor of the directory to write to */
	const char *fd;
	/* option of bundle-build: the number of a descriptor that is open on the file of option
	 * `from`; option of review-build: the number of a descriptor of the directory; option of
	 * review-extract: the number of a descriptor of the image */
	const char *from_fd;
	/* option of review-build: the number of the descriptor to which the list is written */
	const char *list_fd;
	/* option of initrd: the path of the file to write; NULL: a file in the cache */
	const char *out;
	/* option of initrd, kernel-install, kernel-build and kernel-refresh: the path of
	 * microagent-init; NULL: the file microagent-init beside this executable */
	const char *init;
	/* option of initrd: the path of a file with the kernel's modules, which becomes the first
	 * part of the initramfs */
	const char *modules;
	/* option of kernel-install and kernel-build: the path of a file that is used instead of
	 * Debian's package; option of bundle-build: the path of the archive */
	const char *from;
	/* option of kernel-install: the name in the cache for a kernel file of the user */
	const char *name;
	/* option of image-import: the size of the disk in MiB */
	const char *size;
	/* option of initrd, kernel-install, kernel-build, image-build, image-import and
	 * image-remove: the architecture of the machines. NULL: the architecture of this host; for
	 * kernel-install with --from, the architecture of that file. */
	const char *arch;
	char *const *words; /* the remaining words of the command line */
	size_t word_count;
};

/*
 * The function of a command, which does the work and prints the answer on stdout. Returns 0, or -1
 * with err set; main() then prints the error.
 */
typedef int artifact_fn(const struct artifact_options *opts, struct error *err);
artifact_fn artifact_sha256, artifact_init_sha256, artifact_initrd, artifact_kernel_install,
	artifact_kernel_build, artifact_kernel_refresh, artifact_image_build, artifact_image_import,
	artifact_image_remove, artifact_bundle_build, artifact_review_build,
	artifact_review_extract;

/* Sets *out to the architecture that option --arch names. Without --arch, sets *out to
 * `otherwise`. */
int artifact_architecture(const struct artifact_options *opts, enum architecture otherwise,
			  enum architecture *out, struct error *err);
/* Returns the path of microagent-init for an architecture: the value of option --init, or the path
 * of the file beside this executable if --init was not given. The caller frees the path. */
char *artifact_init_path(const struct artifact_options *opts, enum architecture architecture,
			 struct error *err);
/* Returns the descriptor whose number option --fd gives, or -1 with err set. */
int artifact_fd(const struct artifact_options *opts, struct error *err);
/* Returns a descriptor of the file to read, at its beginning, or -1 with err set. With option
 * --from-fd, this is the descriptor whose number the option gives. Without --from-fd, opens the
 * path in option --from. */
int artifact_open_from(const struct artifact_options *opts, struct error *err);
/* Prints the answer of a command: the text, or with --json the object. Does not release the
 * object. */
int artifact_answer(const struct artifact_options *opts, const json_t *object, struct error *err,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/*
 * From this call on, the signals SIGINT, SIGTERM and SIGHUP are only recorded. Functions that work
 * for long check for a recorded signal, and if there is one, clean up and return an error. main()
 * then kills the program with the recorded signal, so that the parent of the program sees which
 * signal it was.
 */
void artifact_catch_signals(void);
/* Returns -1 with ERR_UNAVAILABLE "interrupted" if a signal has come. */
int artifact_check_signal(struct error *err);
void artifact_end_by_signal(void); /* returns only if no signal was recorded */

#endif
