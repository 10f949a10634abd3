/* SPDX-License-Identifier: MIT */
/*
 * Bases and sessions whose guest is macOS. The files that make them share this header. A base is
 * made on a Mac in these steps:
 *
 * - The restore image (IPSW) is downloaded from Apple into a directory beside the bases, or is a
 *   file of the user. It becomes restore.ipsw of the unfinished base.
 * - The supervisor installs the image. This makes the disk, the auxiliary storage, the hardware
 *   model and the machine identifier.
 * - A program puts the agent on the disk.
 * - The machine is booted once. At this boot, macOS sets itself up. Everything that the spec asks
 *   for is done in this machine.
 * - The base is sealed like a base with a Linux guest.
 *
 * If the process that makes a base fails or is killed, only the downloaded bytes of a restore image
 * stay. The next call of the same command continues this download.
 */
#ifndef SESSION_MACOS_H
#define SESSION_MACOS_H

#include "session/bases/base_making.h"
#include "session/sessions/session.h"

/* The directory of restore images in the state directory. No base can have this name, because names
 * of bases do not begin with a dot. */
#define IPSW_DIR BASES_DIR "/.restore-images"
/* The name of the only backend that runs macOS guests. */
#define MACOS_BACKEND "apple-vf"

/* The default mountpoint of a shared directory in a macOS guest, where no directory can be made in
 * "/". */
#define MACOS_WORKSPACE "/Users/Shared/workspace"

/* --- base_macos.c ----------------------------------------------------------------------------- */

/* Refuses a spec that asks for something which a base with a macOS guest cannot have. Does not
 * check the restore image. */
int macos_base_check(const struct making *m, struct error *err);
/* Downloads the restore image and sets m->fetched to its path. Does nothing if the image need not
 * be downloaded. */
int macos_base_fetch(struct making *m, struct error *err);
/* Makes all files of the base, but does not seal it. Sets m->macos to the version of macOS and to
 * what that version needs; both are from the restore image. */
int macos_base_install(struct making *m, struct error *err);
/* Ends the making of a base. If the base was sealed, does nothing and returns 0. Otherwise returns
 * -1 with the failure in `err`. In this case the downloaded image is kept unless it is damaged, and
 * the message in `err` says whether it is kept. */
int macos_base_end(const struct making *m, bool sealed, struct error *err);

/* --- ipsw_fetch.c ----------------------------------------------------------------------------- */

/* Downloads the restore image. Sets *path to the path of the complete image, which the caller
 * frees. On failure, the received bytes are kept for the next call, and the message says so. */
int ipsw_fetch(const struct making *m, const char *url, char **path, struct error *err);

/* --- child.c ---------------------------------------------------------------------------------- */

struct macos_child {
	const char *const *argv;
	const char *input; /* a line that is written to the child's stdin, which then stays open;
			    * NULL: no line */
	bool terminal;	   /* the child may ask a person at the terminal, as sudo(8) does */
	/* Gets each line of the child's stdout and stderr, without the newline. */
	void (*line)(void *data, const char *text);
	void (*tick)(void *data); /* called about five times a second; NULL: not called */
	void *data;
};
/* Runs a child until it ends, and sets *code to its exit code. ERR_UNAVAILABLE: the user of the
 * library cancelled the making of the base, and the child was ended. */
int macos_child_run(const struct making *m, const struct macos_child *child, int *code,
		    struct error *err);

/* --- job.c ------------------------------------------------------------------------------------ */

/* Runs the supervisor for the job. `event` gets the supervisor's events; it may be NULL. */
int macos_job_run(const struct making *m, const json_t *job,
		  void (*event)(void *data, const json_t *event), void *data, struct error *err);

/* --- clone.c ---------------------------------------------------------------------------------- */

/* Clones the base's files into the session's directory. Sets *method to how the disk was cloned:
 * "reflink" or "copy". */
int macos_clone(const struct base *base, const struct workspace *ws, const char **method,
		struct error *err);
/* Lets the supervisor make a machine identifier for a session. No other machine has the same
 * identifier. */
int macos_identify(const struct microagent *agent, const struct workspace *ws, struct error *err);
/* Puts the object "macos" into a config, with the paths of the macOS files in the directory. */
int macos_put_config(const char *directory, json_t *config, struct error *err);
/* Checks the spec of a macOS session before any file is cloned. ERR_UNSUPPORTED: the backend of
 * `agent` cannot run macOS guests. ERR_INVALID: the machine is smaller than the base's macOS needs.
 * Does nothing for a base with a Linux guest. */
int macos_check_session(const struct microagent *agent, const struct base *base, int64_t memory_mib,
			int64_t cpus, struct error *err);
/* Check the ports to publish, and the size of a pool. Do nothing for a base with a Linux guest.
 * Call these functions before the disk is copied, so that a refused request copies nothing.
 * ERR_INVALID: a port cannot be published, or the pool has more machines than a Mac may run at the
 * same time. */
int macos_check_publish(const struct base *base, const char *const *publish, struct error *err);
int macos_check_pool(const struct base *base, int64_t size, struct error *err);

#endif
