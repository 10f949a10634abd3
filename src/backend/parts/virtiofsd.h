/* SPDX-License-Identifier: MIT */
/*
 * The programs that serve a shared directory, and the options of each of them. There are two kinds:
 * the one in C that came with QEMU up to 7.2 (Debian 12), and the one in Rust that newer
 * distributions have (Debian 13). The program itself is asked (--version) which kind it is. The
 * answer is remembered until the host boots again (host_facts.h).
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

/* Finds the program ($MICROAGENT_VIRTIOFSD, else at the paths of the distributions), and asks it of
 * which kind it is. ERR_UNAVAILABLE: there is no program, and the message names the package; or the
 * program gives another answer, which the message has. */
int virtiofsd_find(struct virtiofsd *out, struct error *err);
void virtiofsd_free(struct virtiofsd *program); /* accepts a zeroed one; leaves it zeroed */

/* How one directory is served. */
struct virtiofsd_service {
	int listen_fd;	    /* the number of the listening socket in the program */
	const char *source; /* the directory, as the program sees it */
	struct share_terms terms;
	bool containers; /* the directory has mounts of the host (docs/microagent-oci.8.scd) */
};

/* Checks that the program can serve the directory in this way. ERR_UNSUPPORTED names what the
 * program cannot do. */
int virtiofsd_check(const struct virtiofsd *program, const struct virtiofsd_service *service,
		    struct error *err);
/* Adds the program and its options to argv. */
void virtiofsd_arguments(const struct virtiofsd *program, const struct virtiofsd_service *service,
			 struct argv *argv);

/* Makes a file in memory with the library of src/virtiofsd/preload.c, which is part of this
 * program. Returns its descriptor, or -1 with an error. LD_PRELOAD names this file in virtiofsd's
 * environment. */
int virtiofsd_preload_open(struct error *err);
extern const unsigned char virtiofsd_preload[];
extern const size_t virtiofsd_preload_len;

#endif
