/* SPDX-License-Identifier: MIT */
/*
 * Debian packages as files: found and fetched by apt, which checks their signatures, and unpacked
 * without being installed. Nothing here needs root.
 */
#ifndef ARTIFACT_APT_H
#define ARTIFACT_APT_H

#include <stdint.h>

#include "base/architecture.h"
#include "base/error.h"

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

struct deb {
	char *package;			/* "linux-image-6.1.0-56-cloud-amd64" */
	char *version;			/* "6.1.192-2" */
	char *file;			/* NULL until it is fetched */
	uint64_t bytes;			/* of that; 0: not known */
	enum architecture architecture; /* ARCHITECTURE_COUNT: of none, or of a third */
};
void deb_free(struct deb *deb); /* accepts a zeroed one */
#define auto_deb __attribute__((cleanup(deb_free)))

/* The package, with the version apt would install. No network. ERR_NOT_FOUND when apt's lists do
 * not have it. */
int apt_find(const struct apt *apt, const char *package, struct deb *out, struct error *err);
/* The first package that a meta package depends on. */
int apt_find_dependency(const struct apt *apt, const char *package, struct deb *out,
			struct error *err);
/* Downloads it into dir and sets deb->file. */
int apt_fetch(const struct apt *apt, struct deb *deb, const char *dir, struct error *err);

/* A file that the user has. */
int deb_open(const char *file, struct deb *out, struct error *err);
int deb_unpack(const struct deb *deb, const char *dir, struct error *err);

#endif
