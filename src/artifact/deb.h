/* SPDX-License-Identifier: MIT */
/*
 * A Debian package as a file: deb(5), an ar archive of two tar archives. It may be hostile, and is
 * read by a reader (reader.h). No program is run for it, and of its files only regular ones are
 * taken, under names that a caller knows: no link of it is ever on the host.
 */
#ifndef ARTIFACT_DEB_H
#define ARTIFACT_DEB_H

#include <stdbool.h>
#include <stdint.h>

#include "artifact/digest.h"
#include "base/architecture.h"
#include "base/error.h"

struct deb {
	char *package;			/* "linux-image-6.1.0-56-cloud-amd64" */
	char *version;			/* "6.1.192-2" */
	char *file;			/* NULL until it is fetched */
	uint64_t bytes;			/* of that; 0: not known */
	char sha256[DIGEST_TEXT];	/* of that, as apt's lists have it, or as it was read */
	enum architecture architecture; /* ARCHITECTURE_COUNT: of none, or of a third */
	bool vouched;			/* apt has fetched it, and verified what it fetched */
};
void deb_free(struct deb *deb); /* accepts a zeroed one */
#define auto_deb __attribute__((cleanup(deb_free)))

/* Reads what a file that the user has says of itself. */
int deb_open(const char *file, struct deb *out, struct error *err);
/*
 * Copies the package into the directory, for as long as it is read, and compares its digest with the
 * one of deb: what is unpacked is what the record tells of, whoever writes to the file meanwhile.
 * ERR_CONFLICT: another file is there now.
 *
 * Unpacks into the directory the regular files whose names begin with one of a NULL-terminated
 * list. Names are those below the package's root or its /usr, where some releases have what others
 * have in the root: "boot/vmlinuz-", "lib/modules/". ERR_INVALID for a file that is in it twice,
 * and for a name that leads elsewhere.
 */
int deb_unpack(const struct deb *deb, int dir, const char *const *names, struct error *err);

/* The same in the process that calls it, of an open package. For the reader, and for tests. */
int deb_unpack_here(int fd, int dir, const char *const *names, struct error *err);

/* What stands behind key at the start of a line of text, to the line's end, malloc'd; NULL:
 * ERR_NOT_FOUND. */
char *deb_field(const char *text, const char *key, struct error *err);
/* Whether a name can be an argument and a part of a file's name. */
bool deb_is_plain_name(const char *name);

#endif
