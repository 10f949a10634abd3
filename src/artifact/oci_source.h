/* SPDX-License-Identifier: MIT */
/* The source of an image: the user's name for the image, and the calls of skopeo that fetch it. */
#ifndef ARTIFACT_OCI_SOURCE_H
#define ARTIFACT_OCI_SOURCE_H

#include <stdbool.h>

#include "artifact/oci_manifests.h"

enum oci_transport {
	OCI_LAYOUT,	 /* transport "oci:", a directory */
	OCI_ARCHIVE,	 /* transport "oci-archive:", a tar archive of the directory of an OCI
			  * layout */
	DOCKER_ARCHIVE,	 /* transport "docker-archive:", an archive of `docker save` */
	DOCKER_REGISTRY, /* "docker://" */
};

struct oci_source {
	enum oci_transport transport;
	char *ref;	 /* the user's name for the image, with its transport, for the record:
			  * "oci:/home/me/layout:tag" */
	char *path;	 /* absolute path of the layout or archive; NULL: the source is a
			  * registry */
	char *bytes;	 /* path of the files that skopeo reads: `path`, or a copy that this program
			  * has made; NULL: the source is a registry */
	char *name;	 /* the name of the source for skopeo, set by oci_source_prepare() */
	bool unconfined; /* skopeo runs without a cell, because the user wants this */
	/* The number of bytes that skopeo may write to this host's disk. Also the number of bytes
	 * to which an archive may unpack when this program searches it. */
	uint64_t room;
	/* The architecture for which an image is wanted, if the source has images for several
	 * architectures. */
	enum architecture architecture;
};
/*
 * Finds the source that the user names by `text`. If a file with that path exists, `text` is a
 * path, which may end with ":TAG". Otherwise `text` is a reference with a transport ("oci:..."), or
 * the name of an image in a registry ("debian:12", "ghcr.io/owner/name@sha256:..."). `room` is
 * stored in out->room. ERR_NOT_FOUND: the path does not exist. ERR_INVALID: the file or directory
 * does not contain an image.
 */
int oci_source_find(const char *text, uint64_t room, struct oci_source *out, struct error *err);
void oci_source_free(struct oci_source *source); /* accepts a zeroed one */

/* Prepares the directory `dir` for skopeo: makes the directories to which skopeo writes, and sets
 * source->name to a name that skopeo can parse. If another user could replace the source while
 * skopeo reads it, copies the source into `dir`. `dir_path` is the path of `dir`. */
int oci_source_prepare(struct oci_source *source, int dir, const char *dir_path, struct error *err);
/* Gets the manifests that the source has for the image's name. `dir` is the path of the directory
 * that oci_source_prepare() has prepared. ERR_INVALID: the name contains a digest
 * ("NAME@sha256:..."), which is not the digest of the source's manifest or index. */
int oci_source_look(const struct oci_source *source, const char *dir, struct oci_manifests *out,
		    struct error *err);
/* Fetches manifest, configuration and layers into the directory <dir>/OCI_FETCHED, in the layout
 * that skopeo calls "dir". */
#define OCI_FETCHED "fetched"
int oci_source_fetch(const struct oci_source *source, const char *dir, struct error *err);
/* Checks that the source has a manifest with this digest. skopeo checks this only for a manifest
 * from a registry. */
int oci_source_check_manifest(const struct oci_source *source, const char *sha256,
			      struct error *err);

#endif
