/* SPDX-License-Identifier: MIT */
/*
 * A base: a bundle <state>/bases/NAME-vN.bundle with a disk that is never written again. Its files:
 *
 *   metadata.json  what the base is made of, with digests (schema/base.json)
 *   disk.img       raw ext4
 *   overlay.qcow2  an empty layer over the disk, which a session copies if the file system has no
 *                  reflinks
 *   provision.log  the log of the provisioning, if there was one
 *
 * A base with a macOS guest has no layer and no kernel. Such a base has the files of
 * contract/macos.h and
 *
 *   restore.ipsw   the restore image from which macOS was installed, for a later installation
 *
 * A base is made in a directory with a temporary name. The directory is renamed when the base is
 * sealed, so every bundle with a final name is complete. A process that makes a session of a base
 * holds a shared flock on the base's directory until the session exists. A process that deletes a
 * base first takes an exclusive flock on the directory, and then searches for sessions of the base.
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
/* The values of "format" in the metadata of a base. The value depends on the base's guest. */
#define BASE_FORMAT_LINUX 1
#define BASE_FORMAT_MACOS 2

/* A base's name in its components, for example "web", 3 and "web-v3". */
struct base_name {
	char name[BASE_NAME_MAX + 1];
	unsigned version; /* the number of the version; 0: the name has no version, and means the
			   * newest version */
	char full[BASE_NAME_MAX + 16];
};
/* Parses a base's name like "web-v3" or "web". ERR_INVALID: `word` is not a base's name. */
int base_name_parse(const char *word, struct base_name *out, struct error *err);
/* Checks that word names one version of a base, like "web-v3". Otherwise fails with ERR_INVALID. An
 * accepted word is safe in a path: it is one component, and is neither "." nor "..". */
int base_version_check(const char *word, struct error *err);
/* Parses the file name of a bundle, such as "web-v3.bundle". Returns false if `file` is not such a
 * name. */
bool base_name_of_bundle(const char *file, struct base_name *out);

struct base {
	struct base_name name;
	int fd; /* descriptor of the bundle's directory, with a shared or exclusive flock */
	char *path;
	json_t *metadata; /* the contents of metadata.json, whose members were checked; NULL if the
			   * base was opened with BASE_EXCLUSIVE */
};
#define BASE_NONE        \
	{                \
		.fd = -1 \
	}

/* How a base is opened. BASE_SHARED opens a base for use. BASE_EXCLUSIVE opens a base for deletion,
 * and also accepts a damaged base. */
enum base_use { BASE_SHARED, BASE_EXCLUSIVE };
/* Opens a base and locks it. ERR_NOT_FOUND: the message names the missing base and the bases that
 * exist. ERR_CONFLICT: another process has locked the base, to use it or to delete it. */
int base_open(const struct microagent *agent, const char *word, enum base_use use, struct base *out,
	      struct error *err);
void base_close(struct base *base); /* accepts BASE_NONE */
#define auto_base __attribute__((cleanup(base_close)))

/* Returns the newest version of the base `name` in `dir`, or 0 if the base does not exist. */
unsigned base_newest(const struct state_dir *dir, const char *name);

/*
 * A file of a base that must not change. The initrd is not such a file, because the initrd contains
 * software of this host, and an upgrade replaces this software for existing bases too.
 * metadata.json names the initrd that the base had when it was sealed. A verification reports
 * whether the initrd was replaced later.
 */
struct base_file {
	const char *label; /* name of the file in reports: "disk", "kernel", "layer"... */
	char *path;	   /* path of the file; NULL: the base has no such file */
	/* The recorded digest. NULL: an earlier version of this program sealed the base, and
	 * recorded no digest. */
	const char *sha256;
};
enum {
	BASE_FILE_DISK,
	BASE_FILE_KERNEL, /* a base with a macOS guest has no kernel and no layer */
	BASE_FILE_LAYER,
	BASE_FILE_AUXILIARY, /* only a base with a macOS guest has this file and the files that
			      * follow in this enum */
	BASE_FILE_MODEL,
	BASE_FILE_IDENTIFIER,
	BASE_FILE_IPSW,
	BASE_FILES
};
int base_files(const struct base *base, struct base_file out[BASE_FILES], struct error *err);
void base_files_free(struct base_file files[BASE_FILES]);
/* Returns true if the guest of the base is macOS, false if it is Linux. */
bool base_is_macos(const struct base *base);
/* Returns "amd64" or "arm64", the architecture of the base and its sessions. A base without a
 * recorded architecture was sealed by an earlier version of this program, and is for amd64. */
const char *base_architecture(const struct base *base);
/* Returns the properties of the machine for a session of the base: a copy of `asked` with the
 * architecture of the base. If `asked` has no memory size or no number of processors, the copy gets
 * the base's value. */
struct microagent_machine base_machine(const struct base *base,
				       const struct microagent_machine *asked);
/* Returns the names of the image that the base was made of (contract/provenance.h). Returns an
 * empty object if the base was made of a file without a recorded digest. The caller releases the
 * object. */
json_t *base_provenance(const struct base *base, struct error *err);
/* Checks the digests of all files except the restore image, which sessions do not use.
 * ERR_CONFLICT: the message names the first file whose digest is not the recorded one. ERR_IO: a
 * file cannot be read. Digests are remembered (store/digests.h), so the check is fast if no file
 * has changed. */
int base_check(const struct base *base, struct error *err);

/* Clears the immutable flag (file_set_immutable()) of all files in a bundle. */
void base_clear_immutable(int dir);

/* Removes the bundle of a base that was opened with BASE_EXCLUSIVE. */
int base_remove(const struct microagent *agent, const struct base *base, struct error *err);
/* Removes each base for which the process that made or deleted it was killed before it had
 * finished. Appends the names of these bases to `removed`, which may be NULL. */
void bases_sweep(const struct microagent *agent, json_t *removed);

/* Reads metadata.json of a bundle. An error names the file. The caller releases the result. */
json_t *base_metadata_read(int fd, const char *path, struct error *err);

#endif
