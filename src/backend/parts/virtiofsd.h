/* SPDX-License-Identifier: MIT */
/*
 * The programs that serve a shared directory, and what each of them understands. There are two
 * kinds: the one in C that came with QEMU until 7.2 (Debian 12), and the one in Rust that
 * distributions have since (Debian 13). The program itself is asked (--version) which kind it is.
 * The answer is remembered for one boot of the host (host_facts.h).
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

/* Finds the program, by $MICROAGENT_VIRTIOFSD or where distributions have one, and asks which it
 * is. ERR_UNAVAILABLE names the package, or says what the program answered. */
int virtiofsd_find(struct virtiofsd *out, struct error *err);
void virtiofsd_free(struct virtiofsd *program); /* accepts a zeroed one; leaves it zeroed */

/* How one directory is served. */
struct virtiofsd_service {
	int listen_fd;	    /* its number in the program */
	const char *source; /* the directory, as the program sees it */
	struct share_terms terms;
	bool containers; /* a tree with mounts of the host in it (docs/microagent-oci.8.scd) */
};

/* Returns 0 if the program can do all of that; ERR_UNSUPPORTED names what it cannot. */
int virtiofsd_check(const struct virtiofsd *program, const struct virtiofsd_service *service,
		    struct error *err);
/* Adds the program and its options to argv. */
void virtiofsd_arguments(const struct virtiofsd *program, const struct virtiofsd_service *service,
			 struct argv *argv);

/* Returns the library of src/virtiofsd/preload.c, which is part of this program, as a file in
 * memory, or -1. LD_PRELOAD names the file in the environment of virtiofsd. */
int virtiofsd_preload_open(struct error *err);
extern const unsigned char virtiofsd_preload[];
extern const size_t virtiofsd_preload_len;

#endif
