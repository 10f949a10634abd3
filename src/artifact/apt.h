/* SPDX-License-Identifier: MIT */
/*
 * Finds and fetches packages of Debian by apt. apt checks their signatures and does not install
 * them. No function here needs root.
 */
#ifndef ARTIFACT_APT_H
#define ARTIFACT_APT_H

#include "artifact/deb.h"

/* The apt that is used: this system's apt. For packages of another architecture apt gets its own
 * configuration and its own lists, so that the system keeps a single architecture. */
struct apt {
	enum architecture architecture;
	char *config; /* NULL: the system's configuration */
};
/* Opens apt for an architecture. dir: an empty directory for the lists, which must exist as long as
 * *out. The lists of a foreign architecture are fetched; it is an error if one of them cannot be. A
 * package that the archives or their lists do not have is REASON_NO_PACKAGE. */
int apt_open(enum architecture architecture, const char *dir, struct apt *out, struct error *err);
void apt_close(struct apt *apt); /* accepts a zeroed one */
#define auto_apt __attribute__((cleanup(apt_close)))

/* Finds a package, with the version that apt would install. Uses no network. ERR_NOT_FOUND if apt's
 * lists do not have the package. */
int apt_find(const struct apt *apt, const char *package, struct deb *out, struct error *err);
/* Finds the first package that a meta package depends on. */
int apt_find_dependency(const struct apt *apt, const char *package, struct deb *out,
			struct error *err);
/* Downloads the package into dir and sets deb->file. */
int apt_fetch(const struct apt *apt, struct deb *deb, const char *dir, struct error *err);

#endif
