/* SPDX-License-Identifier: MIT */
/*
 * The programs that serve a shared directory, and their options. There are two kinds: a program in
 * C that came with QEMU up to 7.2 (Debian 12), and a program in Rust that newer distributions have
 * (Debian 13). The output of --version tells which kind a program is. This output is remembered
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
	char *path; /* the absolute path of the program, which virtiofsd_free() frees */
	enum virtiofsd_kind kind;
};

/* Finds the program and its kind. The program is $MICROAGENT_VIRTIOFSD, or else one at the paths of
 * the distributions. Fails with ERR_UNAVAILABLE if there is no program; the message names the
 * package. Also fails with ERR_UNAVAILABLE if the program's answer to --version is not known; the
 * message names the program's path. */
int virtiofsd_find(struct virtiofsd *out, struct error *err);
/* Frees the path, and sets all members to 0. Accepts a struct whose members are all 0. */
void virtiofsd_free(struct virtiofsd *program);

/* The parameters with which one directory is served. */
struct virtiofsd_service {
	int listen_fd;	    /* the number that the listening socket has in the program */
	const char *source; /* the path of the directory, as the program sees it */
	struct share_terms terms;
	bool containers; /* the directory has mounts of the host (docs/microagent-oci.8.scd) */
};

/* Checks that the program can serve the directory with these parameters. Fails with ERR_UNSUPPORTED
 * if it cannot. The message names the parameter that is not possible. */
int virtiofsd_check(const struct virtiofsd *program, const struct virtiofsd_service *service,
		    struct error *err);
/* Adds the program and its options to `argv`. */
void virtiofsd_arguments(const struct virtiofsd *program, const struct virtiofsd_service *service,
			 struct argv *argv);

/* Makes a file in memory that has the library of src/virtiofsd/preload.c. This program contains a
 * copy of the library. Returns the file's descriptor, or -1 with an error. LD_PRELOAD in
 * virtiofsd's environment names this file. */
int virtiofsd_preload_open(struct error *err);
extern const unsigned char virtiofsd_preload[];
extern const size_t virtiofsd_preload_len;

#endif
