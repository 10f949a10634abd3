/* SPDX-License-Identifier: MIT */
/*
 * Bases and sessions whose guest is macOS, shared by the files that make them. A base is made on a
 * Mac in these steps. The restore image (IPSW) is fetched from Apple into a directory beside the
 * bases, or is a file of the user's. It becomes restore.ipsw of the base in the making. The
 * supervisor installs the image, which makes the disk, auxiliary storage, hardware model and
 * machine identifier. A program puts the agent on the disk. The machine is booted once, which is
 * when macOS sets itself up, and everything that the spec asks for is done in it. Then the base is
 * sealed like other bases.
 *
 * If making a base fails or is killed, it leaves only a fetched restore image, or the part of it
 * that has been received. The same command goes on with that later.
 */
#ifndef SESSION_MACOS_H
#define SESSION_MACOS_H

#include "session/bases/base_making.h"
#include "session/sessions/session.h"

/* The directory of restore images in the state directory. No base has such a name. */
#define IPSW_DIR BASES_DIR "/.restore-images"
/* The only backend that has macOS guests, and the name of its VMM for people. */
#define MACOS_BACKEND "apple-vf"

/* The default mountpoint of a shared directory. No directory can be made in / of macOS. */
#define MACOS_WORKSPACE "/Users/Shared/workspace"

/* --- base_macos.c ----------------------------------------------------------------------------- */

/* Checks that the spec asks for nothing, beside the restore image, that such a base cannot have. */
int macos_base_check(const struct making *m, struct error *err);
/* Fetches the restore image into m->fetched, if it must be fetched. Otherwise does nothing. */
int macos_base_fetch(struct making *m, struct error *err);
/* Makes everything in the directory before it is sealed. m->macos is set to what the image says of
 * itself. */
int macos_base_install(struct making *m, struct error *err);
/* Ends the making of a base that was sealed or not. If it was sealed, the fetched image is removed;
 * otherwise the image stays, and err says so. Returns 0, or -1. */
int macos_base_end(const struct making *m, bool sealed, struct error *err);

/* --- ipsw_fetch.c ----------------------------------------------------------------------------- */

/* Fetches the restore image. *path is the path of the whole image, and the caller frees it. If the
 * function fails, the part that was received stays, and the message says so. */
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
/* Runs a child until its end. ERR_UNAVAILABLE: m's maker was told to give up, and the child was
 * ended. */
int macos_child_run(const struct making *m, const struct macos_child *child, int *code,
		    struct error *err);

/* --- job.c ------------------------------------------------------------------------------------ */

/* Makes the supervisor do the job. event receives the supervisor's events meanwhile, and may be
 * NULL. */
int macos_job_run(const struct making *m, const json_t *job,
		  void (*event)(void *data, const json_t *event), void *data, struct error *err);

/* --- clone.c ---------------------------------------------------------------------------------- */

/* Clones the files of a session into its directory. *method is how the disk was cloned: "reflink"
 * or "copy". */
int macos_clone(const struct base *base, const struct workspace *ws, const char **method,
		struct error *err);
/* Makes the supervisor create a machine identifier that no other machine has. */
int macos_identify(const struct microagent *agent, const struct workspace *ws, struct error *err);
/* Puts "macos" into a config, for the files of that directory. */
int macos_put_config(const char *directory, json_t *config, struct error *err);
/* Checks, before anything is cloned, that agent can run the guests of a macOS base
 * (ERR_UNSUPPORTED), and that the machine is as large as the base's macOS needs (ERR_INVALID). Does
 * nothing for other bases. */
int macos_check_session(const struct microagent *agent, const struct base *base, int64_t memory_mib,
			int64_t cpus, struct error *err);
/* macos_check_publish() checks the ports, before a whole disk is copied in vain. macos_check_pool()
 * gives ERR_INVALID for a pool of more machines than may run at once. */
int macos_check_publish(const struct base *base, const char *const *publish, struct error *err);
int macos_check_pool(const struct base *base, int64_t size, struct error *err);

#endif
