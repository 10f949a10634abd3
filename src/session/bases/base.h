/* SPDX-License-Identifier: MIT */
/*
 * A base: a bundle <state>/bases/NAME-vN.bundle with a disk that is never written again.
 *
 *   metadata.json  what it is made of, with digests (schema/base.json)
 *   disk.img       raw ext4
 *   overlay.qcow2  an empty layer over the disk, to be copied where the file system has no reflinks
 *   provision.log  of one that was provisioned: what was said meanwhile
 *
 * One whose guest is macOS has no layer and no kernel, but the files of contract/macos.h and
 *
 *   restore.ipsw   what it was installed from, to do so again
 *
 * It is made under another name and renamed when it is sealed, so a bundle under its final name is
 * whole. Who makes a session of it holds a shared flock on its directory meanwhile; who deletes it
 * holds an exclusive one and then looks for sessions.
 */
#ifndef SESSION_BASE_H
#define SESSION_BASE_H

#include <jansson.h>
#include <stdbool.h>

#include "microagent_session.h"
#include "session/bases/place.h"

#define BASE_METADATA "metadata.json"
#define BASE_DISK "disk.img"
#define BASE_LAYER "overlay.qcow2"
#define BASE_LOG "provision.log"
#define BASE_IPSW "restore.ipsw"
#define BASE_NAME_MAX 32
/* "format" of the metadata, by the guest. */
#define BASE_FORMAT_LINUX 1
#define BASE_FORMAT_MACOS 2

/* "web", 3 and "web-v3". */
struct base_name {
	char name[BASE_NAME_MAX + 1];
	unsigned version; /* 0: the newest */
	char full[BASE_NAME_MAX + 16];
};
/* "web-v3" or "web"; ERR_INVALID. */
int base_name_parse(const char *word, struct base_name *out, struct error *err);
/* Checks that word names one version of a base, as "web-v3" does; else ERR_INVALID. A word that passes
 * is a single component of a path, and neither "." nor "..", so it leads to no other directory. */
int base_version_check(const char *word, struct error *err);
/* "web-v3.bundle". */
bool base_name_of_bundle(const char *file, struct base_name *out);

struct base {
	struct base_name name;
	int fd; /* of the bundle; a shared or exclusive flock is on it */
	char *path;
	json_t *metadata; /* its shape is checked; NULL with BASE_EXCLUSIVE */
};
#define BASE_NONE        \
	{                \
		.fd = -1 \
	}

/* Exclusive: to be deleted, whatever state it is in. */
enum base_use { BASE_SHARED, BASE_EXCLUSIVE };
/* ERR_NOT_FOUND names the base and what there is; ERR_CONFLICT: somebody is at work on it. */
int base_open(const struct microagent *agent, const char *word, enum base_use use, struct base *out,
	      struct error *err);
void base_close(struct base *base); /* accepts BASE_NONE */
#define auto_base __attribute__((cleanup(base_close)))

/* The newest version of name in dir; 0: there is none. */
unsigned base_newest(const struct state_dir *dir, const char *name);

/*
 * What of a base is a file that must not change, and where. The initrd is none of them: it carries
 * this host's own software, which an upgrade replaces for bases old and new; metadata.json tells
 * which it was at the sealing, and a verification whether it has been refreshed since.
 */
struct base_file {
	const char *label;  /* "disk", "kernel", "layer"... */
	char *path;	    /* NULL: the base has none */
	const char *sha256; /* as recorded; NULL: by a version that recorded none of it */
};
enum {
	BASE_FILE_DISK,
	BASE_FILE_KERNEL, /* this and the next: not where the guest is macOS */
	BASE_FILE_LAYER,
	BASE_FILE_AUXILIARY, /* this and the next ones: only there */
	BASE_FILE_MODEL,
	BASE_FILE_IDENTIFIER,
	BASE_FILE_IPSW,
	BASE_FILES
};
int base_files(const struct base *base, struct base_file out[BASE_FILES], struct error *err);
void base_files_free(struct base_file files[BASE_FILES]);
/* Whether its guest is macOS, and not a Linux. */
bool base_is_macos(const struct base *base);
/* "amd64" or "arm64": of all that is made of it. One that was sealed before there were several is
 * for amd64. */
const char *base_architecture(const struct base *base);
/* The machine of what is made of the base: what is asked for, with the base's word where the base has
 * one, which is its architecture, and memory and processors that are not asked for. */
struct microagent_machine base_machine(const struct base *base,
				       const struct microagent_machine *asked);
/* The names of the image that the base was made of (contract/provenance.h), a new reference; an
 * empty object where it was made of a file that no digest is recorded of. */
json_t *base_provenance(const struct base *base, struct error *err);
/* Of all but the restore image, which no session is made of. ERR_CONFLICT naming the first file
 * whose digest is not the recorded one; ERR_IO where it cannot be read. Digests are remembered, so
 * this is quick unless a file was touched. */
int base_check(const struct base *base, struct error *err);

/* The flag that lets nobody change what is sealed goes from all files of a bundle. */
void base_clear_immutable(int dir);

/* A base that was opened to be deleted: its bundle. */
int base_remove(const struct microagent *agent, const struct base *base, struct error *err);
/* What was being made or deleted when its process died is removed. Each name is appended to
 * removed, which may be NULL. */
void bases_sweep(const struct microagent *agent, json_t *removed);

/* metadata.json of a bundle; an error names the file. */
json_t *base_metadata_read(int fd, const char *path, struct error *err);

#endif
