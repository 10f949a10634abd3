/* SPDX-License-Identifier: MIT */
/* The source of an image: the user's name for it, and the calls of skopeo. */
#ifndef ARTIFACT_OCI_SOURCE_H
#define ARTIFACT_OCI_SOURCE_H

#include <stdbool.h>

#include "artifact/oci_manifests.h"

enum oci_transport {
	OCI_LAYOUT,	 /* "oci:", a directory */
	OCI_ARCHIVE,	 /* "oci-archive:", such a directory as a tar archive */
	DOCKER_ARCHIVE,	 /* "docker-archive:", an archive of `docker save` */
	DOCKER_REGISTRY, /* "docker://" */
};

struct oci_source {
	enum oci_transport transport;
	char *ref;	 /* the whole reference, for the record: "oci:/home/me/layout:tag" */
	char *path;	 /* absolute path of the layout or archive; NULL for a registry */
	char *bytes;	 /* the path that is read: `path`, or our copy of it; NULL for a registry */
	char *name;	 /* the name of the source for skopeo, set by oci_source_prepare() */
	bool unconfined; /* skopeo runs in no cell, because the user wants this */
	/* How many bytes skopeo may write to the disk of this host. Also how many bytes an archive
	 * may unpack to when this program looks into it. */
	uint64_t room;
	/* The architecture whose image is taken, if there are images for several. */
	enum architecture architecture;
};
/*
 * Finds the source that text names. `text` is a reference with a transport ("oci:..."), or a path,
 * which may have ":TAG" at its end, or an image of a registry ("debian:12",
 * "ghcr.io/owner/name@sha256:..."). If a file of that name exists, text is a path. ERR_NOT_FOUND if
 * the path does not exist, ERR_INVALID if the file or directory holds no image. `room`: see struct
 * oci_source.
 */
int oci_source_find(const char *text, uint64_t room, struct oci_source *out, struct error *err);
void oci_source_free(struct oci_source *source); /* accepts a zeroed one */

/* Prepares the directory dir for skopeo. Makes the directories to which skopeo writes, and gives
 * the source a name that skopeo can parse. If another user could replace the source while skopeo
 * reads it, copies the source into `dir`. `dir_path`: the path of `dir`. */
int oci_source_prepare(struct oci_source *source, int dir, const char *dir_path, struct error *err);
/* Gets the manifests that the source has for the image's name. ERR_INVALID if the name contains a
 * digest ("NAME@sha256:...") that is not the digest of the manifest or index that the source has.
 * `dir`: the path of the directory of oci_source_prepare(). */
int oci_source_look(const struct oci_source *source, const char *dir, struct oci_manifests *out,
		    struct error *err);
/* Fetches manifest, configuration and layers into <dir>/OCI_FETCHED, in the form that skopeo calls
 * "dir". */
#define OCI_FETCHED "fetched"
int oci_source_fetch(const struct oci_source *source, const char *dir, struct error *err);
/* Checks that the source has a manifest with this digest. skopeo does not check this if the
 * manifest comes from a layout or an archive. */
int oci_source_check_manifest(const struct oci_source *source, const char *sha256,
			      struct error *err);

#endif
