/* SPDX-License-Identifier: MIT */
/*
 * The programs that serve a shared directory, and their options. There are two kinds: a program in
 * C that came with QEMU up to 7.2 (Debian 12), and a program in Rust that newer distributions have
 * (Debian 13). The output of --version shows which kind a program is. The answer is remembered
 * until the host boots again (host_facts.h).
 */
#ifndef BACKEND_PARTS_VIRTIOFSD_H
#define BACKEND_PARTS_VIRTIOFSD_H

#include <stdbool.h>
#include <stddef.h>

#include "base/argv.h"
#include "base/error.h"
#include "contract/request.h"

enum virtiofsd_kind { VIRTIOFSD_C, VIRTIOFSD_RUST };

struct virtiofsd {
	char *path; /* absolute, malloc'd */
	enum virtiofsd_kind kind;
};

/* Finds the program ($MICROAGENT_VIRTIOFSD, else at the paths of the distributions), and finds out
 * its kind. ERR_UNAVAILABLE: either there is no program, and the message names the package, or the
 * program's answer to --version is unknown, and the message quotes the answer. */
int virtiofsd_find(struct virtiofsd *out, struct error *err);
void virtiofsd_free(struct virtiofsd *program); /* accepts a zeroed one; leaves it zeroed */

/* The way in which one directory is served. */
struct virtiofsd_service {
	int listen_fd;	    /* the number of the listening socket in the program */
	const char *source; /* the directory, as the program sees it */
	struct share_terms terms;
	bool containers; /* the directory has mounts of the host (docs/microagent-oci.8.scd) */
};

/* Checks that the program can serve the directory in this way. ERR_UNSUPPORTED: it cannot; the
 * message names the part of the service that is not possible. */
int virtiofsd_check(const struct virtiofsd *program, const struct virtiofsd_service *service,
		    struct error *err);
/* Adds the program and its options to `argv`. */
void virtiofsd_arguments(const struct virtiofsd *program, const struct virtiofsd_service *service,
			 struct argv *argv);

/* Makes a file in memory with the library of src/virtiofsd/preload.c, which is part of this
 * program. Returns its descriptor, or -1 with an error. LD_PRELOAD names this file in virtiofsd's
 * environment. */
int virtiofsd_preload_open(struct error *err);
extern const unsigned char virtiofsd_preload[];
extern const size_t virtiofsd_preload_len;

#endif
