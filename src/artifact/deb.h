/* SPDX-License-Identifier: MIT */
/*
 * A Debian package as a file: deb(5), an ar archive of two tar archives. It may be hostile, so a
 * reader reads it (reader.h). No program is run for it. Only its regular files are taken, under
 * names that the caller knows; no link of the package is ever made on the host.
 */
#ifndef ARTIFACT_DEB_H
#define ARTIFACT_DEB_H

#include <stdbool.h>
#include <stdint.h>

#include "artifact/digest.h"
#include "base/architecture.h"
#include "base/error.h"

struct deb {
	char *package;		  /* "linux-image-6.1.0-56-cloud-amd64" */
	char *version;		  /* "6.1.192-2" */
	char *file;		  /* NULL until it is fetched */
	uint64_t bytes;		  /* size of the file; 0: not known */
	char sha256[DIGEST_TEXT]; /* digest of the file, from apt's lists or from reading it */
	enum architecture architecture; /* ARCHITECTURE_COUNT: of none, or of an unknown one */
	bool vouched;			/* apt has fetched the file and verified it */
};
void deb_free(struct deb *deb); /* accepts a zeroed one */
#define auto_deb __attribute__((cleanup(deb_free)))

/* Reads the metadata of a package file of the user. */
int deb_open(const char *file, struct deb *out, struct error *err);
/*
 * Unpacks the regular files whose names begin with an entry of `names`, a NULL-terminated list,
 * into the directory. Names are relative to the package's root or to its /usr, because some
 * releases have files in /usr that others have in the root: "boot/vmlinuz-", "lib/modules/".
 * ERR_INVALID for a file that is in the package twice, and for a name that leads out of the
 * directory.
 *
 * Before that it copies the package into the directory, until it is read, and compares the digest
 * of the copy with the one of deb. So the unpacked files are those of the record, even if someone
 * writes to the package file meanwhile. ERR_CONFLICT if the file is another one now.
 */
int deb_unpack(const struct deb *deb, int dir, const char *const *names, struct error *err);

/* Does the unpacking of deb_unpack() in the calling process, from an open package. For the reader,
 * and for tests. */
int deb_unpack_here(int fd, int dir, const char *const *names, struct error *err);

/* Returns the text that follows key on a line that begins with key. The caller frees it. Returns
 * NULL with ERR_NOT_FOUND if no line begins with key. */
char *deb_field(const char *text, const char *key, struct error *err);
/* Returns true if a name can be an argument and a part of a file's name. */
bool deb_is_plain_name(const char *name);

#endif
