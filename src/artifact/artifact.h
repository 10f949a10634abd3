/* SPDX-License-Identifier: MIT */
/*
 * microagent-artifact: everything that needs a hash, an archive or somebody else's build tool, so
 * that the programs on the path of a start link none of it. It is run by hand, by `make setup` and
 * by `microagent kernel` and `microagent image`; it ends when its work is done.
 */
#ifndef ARTIFACT_ARTIFACT_H
#define ARTIFACT_ARTIFACT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/architecture.h"
#include "base/error.h"

/* What the options of a command gave; NULL or false when absent. */
struct artifact_options {
	bool json;	     /* one JSON document on stdout instead of text */
	bool upgrade;	     /* look for a newer version although there is one */
	bool rebuild;	     /* build although there is one */
	bool plan;	     /* kernel-install: what would be fetched, and no more */
	bool for_pvm;	     /* kernel-install: the kernel is built for a PVM (pvm.h) */
	bool unconfined;     /* skopeo, or what works on a package, in no cell */
	const char *fd;	     /* sha256: the descriptor to read */
	const char *from_fd; /* bundle-build: the descriptor of `from` */
	const char *out;     /* initrd: the file to write; default: one of the cache */
	const char *init;    /* microagent-init; default: beside the executable */
	const char *modules; /* initrd: a segment; kernel-install: a directory lib/modules/V */
	const char *from;    /* a file instead of the package */
	const char *name;    /* of a custom kernel */
	const char *size;    /* image-import: MiB */
	const char *arch;   /* of the machines it is for; default: this host's, or the file's own */
	char *const *words; /* what is left of the command line */
	size_t word_count;
};

/*
 * A command does its work, prints its answer on stdout and returns 0, or -1 with err set. Errors
 * are printed by main() alone.
 */
typedef int artifact_fn(const struct artifact_options *opts, struct error *err);
artifact_fn artifact_sha256, artifact_init_sha256, artifact_initrd, artifact_kernel_install,
	artifact_kernel_build, artifact_kernel_refresh, artifact_image_build, artifact_image_import,
	artifact_image_remove, artifact_bundle_build;

/* --arch, else `otherwise`. */
int artifact_architecture(const struct artifact_options *opts, enum architecture otherwise,
			  enum architecture *out, struct error *err);
/* The path of the microagent-init of an architecture: --init, else beside the executable. malloc'd.
 */
char *artifact_init_path(const struct artifact_options *opts, enum architecture architecture,
			 struct error *err);
/* The descriptor that --fd names; -1. */
int artifact_fd(const struct artifact_options *opts, struct error *err);
/* The descriptor that --from-fd names, to be read from its beginning, or `from`, opened; -1. */
int artifact_open_from(const struct artifact_options *opts, struct error *err);
/* Prints the answer: text, or under --json the object (borrowed). */
int artifact_answer(const struct artifact_options *opts, const json_t *object, struct error *err,
		    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/*
 * SIGINT, SIGTERM and SIGHUP are noted. Long work looks at it, cleans up and returns an error;
 * main() then ends by that signal, so that the one who runs us sees it.
 */
void artifact_catch_signals(void);
/* ERR_UNAVAILABLE "interrupted" when a signal has come. */
int artifact_check_signal(struct error *err);
void artifact_end_by_signal(void); /* returns when there was none */

#endif
