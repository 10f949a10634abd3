/* SPDX-License-Identifier: MIT */
/*
 * Debian's packages, found and fetched by apt, which checks their signatures, and not installed.
 * Nothing here needs root.
 */
#ifndef ARTIFACT_APT_H
#define ARTIFACT_APT_H

#include "artifact/deb.h"

/* The apt that is asked: this system's, or for packages of another architecture one with a
 * configuration, and lists, of its own, so that the system stays one of one architecture. */
struct apt {
	enum architecture architecture;
	char *config; /* NULL: the system's */
};
/* dir: an empty directory that lasts as long, where the lists are put. Those of another
 * architecture than the host's are fetched; it is an error if one of them cannot be. What the
 * archives or their lists do not have is REASON_NO_PACKAGE. */
int apt_open(enum architecture architecture, const char *dir, struct apt *out, struct error *err);
void apt_close(struct apt *apt); /* accepts a zeroed one */
#define auto_apt __attribute__((cleanup(apt_close)))

/* The package, with the version apt would install. No network. ERR_NOT_FOUND when apt's lists do
 * not have it. */
int apt_find(const struct apt *apt, const char *package, struct deb *out, struct error *err);
/* The first package that a meta package depends on. */
int apt_find_dependency(const struct apt *apt, const char *package, struct deb *out,
			struct error *err);
/* Downloads it into dir and sets deb->file. */
int apt_fetch(const struct apt *apt, struct deb *deb, const char *dir, struct error *err);

#endif
