/* SPDX-License-Identifier: MIT */
/* The source of an image: the user's name for it, and the calls of skopeo. */
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
	char *ref;	 /* "oci:/home/me/layout:tag": whole, for the record */
	char *path;	 /* absolute; NULL for a registry */
	char *bytes;	 /* the path to read: path, or our copy; NULL for a registry */
	char *name;	 /* skopeo's name for it, in the directory of oci_source_prepare() */
	bool unconfined; /* skopeo runs in no cell, because the user wants that */
	/* How many bytes skopeo may write to the disk of this host. An archive that is inspected
	 * may also unpack to so many bytes. */
	uint64_t room;
	/* The architecture to take from an image that exists for several. */
	enum architecture architecture;
};
/*
 * Finds the source that text names. text is a reference as above, or a path, which may have ":TAG"
 * at its end, or an image of a registry ("debian:12", "ghcr.io/owner/name@sha256:..."). If a file
 * of that name exists, text is a path. ERR_NOT_FOUND for a path where nothing is, ERR_INVALID for a
 * file or directory that holds no image. room: see struct oci_source.
 */
int oci_source_find(const char *text, uint64_t room, struct oci_source *out, struct error *err);
void oci_source_free(struct oci_source *source); /* accepts a zeroed one */

/* Prepares dir for skopeo: makes a name of the source that skopeo can parse, and the directories to
 * which skopeo writes. Copies a source that another user could replace while skopeo reads it.
 * dir_path: the path of dir. */
int oci_source_prepare(struct oci_source *source, int dir, const char *dir_path, struct error *err);
/* Gets the manifest or the index that the source has for the image's name. ERR_INVALID if the name
 * contains another digest. dir: the path of the directory of oci_source_prepare(). */
int oci_source_look(const struct oci_source *source, const char *dir, struct oci_manifests *out,
		    struct error *err);
/* Fetches manifest, configuration and layers into <dir>/OCI_FETCHED, in the form that skopeo calls
 * "dir". */
#define OCI_FETCHED "fetched"
int oci_source_fetch(const struct oci_source *source, const char *dir, struct error *err);
/* Checks that the source has a manifest with this digest, because skopeo does not check the digest
 * of a manifest that is a file. */
int oci_source_check_manifest(const struct oci_source *source, const char *sha256,
			      struct error *err);

#endif
