/* SPDX-License-Identifier: MIT */
/*
 * Bases and sessions whose guest is macOS. The files that make them share this header. A base is
 * made on a Mac in these steps:
 *
 * - The restore image (IPSW) is fetched from Apple into a directory beside the bases, or is a file
 *   of the user's. It becomes restore.ipsw of the base in the making.
 * - The supervisor installs the image. This makes the disk, the auxiliary storage, the hardware
 *   model and the machine identifier.
 * - A program puts the agent on the disk.
 * - The machine is booted once. macOS sets itself up at this boot, and all that the spec asks for
 *   is done in the machine.
 * - The base is sealed like a base of Linux.
 *
 * If making a base fails or is killed, only a fetched restore image is left, or the part of it that
 * was received. The same command uses this later.
 */
#ifndef SESSION_MACOS_H
#define SESSION_MACOS_H

#include "session/bases/base_making.h"
#include "session/sessions/session.h"

/* The directory of restore images in the state directory. No base has such a name. */
#define IPSW_DIR BASES_DIR "/.restore-images"
/* The name of the only backend that has macOS guests. */
#define MACOS_BACKEND "apple-vf"

/* The default mountpoint of a shared directory. No directory can be made in / of macOS. */
#define MACOS_WORKSPACE "/Users/Shared/workspace"

/* --- base_macos.c ----------------------------------------------------------------------------- */

/* Checks that the spec asks for nothing that a base with a macOS guest cannot have. The restore
 * image is not checked. */
int macos_base_check(const struct making *m, struct error *err);
/* Fetches the restore image into m->fetched, if it must be fetched. Otherwise does nothing. */
int macos_base_fetch(struct making *m, struct error *err);
/* Makes all files of the base, up to the sealing. Sets m->macos to the version and the needs of
 * macOS, as the restore image has them. */
int macos_base_install(struct making *m, struct error *err);
/* Ends the making of a base. Does nothing and returns 0 if the base was sealed. Otherwise returns
 * -1. The fetched image is kept then, unless it is damaged, and `err`, which has the failure, says
 * so too. */
int macos_base_end(const struct making *m, bool sealed, struct error *err);

/* --- ipsw_fetch.c ----------------------------------------------------------------------------- */

/* Fetches the restore image. Sets *path to the path of the whole image, which the caller frees. If
 * the function fails, the part that was received is kept, and the message says so. */
int ipsw_fetch(const struct making *m, const char *url, char **path, struct error *err);

/* --- child.c ---------------------------------------------------------------------------------- */

struct macos_child {
	const char *const *argv;
	const char *input; /* a line for the child's stdin, which stays open; NULL: none */
	bool terminal;	   /* the child may ask the person at the terminal, as sudo(8) does */
	/* Receives a line of the child's stdout or stderr, without the newline. */
	void (*line)(void *data, const char *text);
	void (*tick)(void *data); /* called about five times a second; NULL: not called */
	void *data;
};
/* Runs a child until its end, and sets *code to its exit code. ERR_UNAVAILABLE: the caller of the
 * library has cancelled the making, and the child was ended. */
int macos_child_run(const struct making *m, const struct macos_child *child, int *code,
		    struct error *err);

/* --- job.c ------------------------------------------------------------------------------------ */

/* Runs the supervisor with the job. `event` (may be NULL) receives the supervisor's events. */
int macos_job_run(const struct making *m, const json_t *job,
		  void (*event)(void *data, const json_t *event), void *data, struct error *err);

/* --- clone.c ---------------------------------------------------------------------------------- */

/* Clones the base's files for a session into the session's directory. Sets *method to how the disk
 * was cloned: "reflink" or "copy". */
int macos_clone(const struct base *base, const struct workspace *ws, const char **method,
		struct error *err);
/* Makes the machine identifier of a session, which no other machine has. The supervisor makes
 * it. */
int macos_identify(const struct microagent *agent, const struct workspace *ws, struct error *err);
/* Puts "macos", with the paths of the files in that directory, into a config. */
int macos_put_config(const char *directory, json_t *config, struct error *err);
/* Checks a session of a macOS base before a file is cloned. ERR_UNSUPPORTED: `agent` cannot run
 * macOS guests. ERR_INVALID: the machine is smaller than the base's macOS needs. Does nothing for
 * other bases. */
int macos_check_session(const struct microagent *agent, const struct base *base, int64_t memory_mib,
			int64_t cpus, struct error *err);
/* Functions that check, for a macOS base, the ports to publish and the size of a pool, before a
 * whole disk is copied in vain. ERR_INVALID: a port cannot be published, or the pool has more
 * machines than a Mac may run at once. */
int macos_check_publish(const struct base *base, const char *const *publish, struct error *err);
int macos_check_pool(const struct base *base, int64_t size, struct error *err);

#endif
