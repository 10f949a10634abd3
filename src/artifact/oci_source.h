/* SPDX-License-Identifier: MIT */
/* Where a user has an image: what he calls it, and what skopeo does. */
#ifndef ARTIFACT_OCI_SOURCE_H
#define ARTIFACT_OCI_SOURCE_H

#include <stdbool.h>

#include "artifact/oci_manifests.h"

enum oci_transport {
	OCI_LAYOUT,	 /* "oci:", a directory */
	OCI_ARCHIVE,	 /* "oci-archive:", the same as a tar archive */
	DOCKER_ARCHIVE,	 /* "docker-archive:", of `docker save` */
	DOCKER_REGISTRY, /* "docker://" */
};

struct oci_source {
	enum oci_transport transport;
	char *ref;   /* "oci:/home/me/layout:tag": whole, for the record */
	char *path;  /* absolute; NULL for a registry */
	char *bytes; /* where its bytes are read: path, or a copy of ours; NULL for a registry */
	char *name;  /* skopeo's, in the directory of oci_source_prepare() */
	bool unconfined; /* skopeo runs in no cell, since the user wants it so */
	/* How many bytes skopeo may write to this host's disk, and how many an archive that is
	 * looked into may unpack to. */
	uint64_t room;
	/* Of an image that is there for several, the one that is taken. */
	enum architecture architecture;
};
/*
 * text is such a reference; or a path, which may have ":TAG" behind it; or a registry's image
 * ("debian:12", "ghcr.io/owner/name@sha256:..."). What is there as a file is one. ERR_NOT_FOUND for
 * a path where nothing is, ERR_INVALID for a file or directory that holds no image. room: as of
 * struct oci_source.
 */
int oci_source_find(const char *text, uint64_t room, struct oci_source *out, struct error *err);
void oci_source_free(struct oci_source *source); /* accepts a zeroed one */

/* Makes what skopeo needs in dir: a name of the source that it can parse, and the directories that
 * it writes to; and a copy of a source that another user could exchange while skopeo reads it.
 * dir_path: the same directory. */
int oci_source_prepare(struct oci_source *source, int dir, const char *dir_path, struct error *err);
/* What the source has under the image's name: a manifest or an index. ERR_INVALID where the name
 * has another digest in it. dir: that of oci_source_prepare(), as a path. */
int oci_source_look(const struct oci_source *source, const char *dir, struct oci_manifests *out,
		    struct error *err);
/* Manifest, configuration and layers into <dir>/OCI_FETCHED, in the form that skopeo calls "dir".
 */
#define OCI_FETCHED "fetched"
int oci_source_fetch(const struct oci_source *source, const char *dir, struct error *err);
/* skopeo looks at no digest of a manifest that is a file: whether the source has it by this one. */
int oci_source_check_manifest(const struct oci_source *source, const char *sha256,
			      struct error *err);

#endif
