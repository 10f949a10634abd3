/* SPDX-License-Identifier: MIT */
/*
 * Bases and sessions whose guest is macOS, between the files that make them. Making a base, on a
 * Mac, has these steps. The restore image (IPSW) is fetched from Apple into a directory beside the
 * bases, or is a file of the user's, and becomes restore.ipsw of the base in the making. The
 * supervisor installs it: disk, auxiliary storage, hardware model, machine identifier. A program
 * puts the agent on the disk. It is booted once, which is when macOS sets itself up, and what is
 * asked for is done in it. Then all of it is sealed as other bases are.
 *
 * What fails or is killed leaves nothing but a fetched restore image, or the part of it that has
 * come, with which the same command goes on.
 */
#ifndef SESSION_MACOS_H
#define SESSION_MACOS_H

#include "session/bases/base_making.h"
#include "session/sessions/session.h"

/* Of the state directory; no base has such a name. */
#define IPSW_DIR BASES_DIR "/.restore-images"
/* The one backend that has such guests, and what people call its VMM. */
#define MACOS_BACKEND "apple-vf"

/* Where a shared directory is mounted by default: in / none can be made. */
#define MACOS_WORKSPACE "/Users/Shared/workspace"

/* --- base_macos.c ----------------------------------------------------------------------------- */

/* What spec asks for beside the restore image that it cannot have. */
int macos_base_check(const struct making *m, struct error *err);
/* m->fetched: the restore image, where it is to be fetched; else nothing is done. */
int macos_base_fetch(struct making *m, struct error *err);
/* All that is in the directory before it is sealed; m->macos is what the image says of itself. */
int macos_base_install(struct making *m, struct error *err);
/* The base is sealed, or not: what has been fetched goes, or stays, and err says so. Returns 0, or
 * -1. */
int macos_base_end(const struct making *m, bool sealed, struct error *err);

/* --- ipsw_fetch.c ----------------------------------------------------------------------------- */

/* *path: the whole restore image, malloc'd. On failure the part that has come stays, and the text
 * says so. */
int ipsw_fetch(const struct making *m, const char *url, char **path, struct error *err);

/* --- child.c ---------------------------------------------------------------------------------- */

struct macos_child {
	const char *const *argv;
	const char *input; /* a line on its stdin, which stays open; NULL: none */
	bool terminal;	   /* it may ask the person who sits there, as sudo(8) does */
	/* A line of what it says, on stdout or stderr, without the newline. */
	void (*line)(void *data, const char *text);
	void (*tick)(void *data); /* about five times a second; NULL: nothing */
	void *data;
};
/* Until its end. ERR_UNAVAILABLE when m's maker was told to give it up: it was ended then. */
int macos_child_run(const struct making *m, const struct macos_child *child, int *code,
		    struct error *err);

/* --- job.c ------------------------------------------------------------------------------------ */

/* The supervisor does the job. event: of what it says meanwhile; may be NULL. */
int macos_job_run(const struct making *m, const json_t *job,
		  void (*event)(void *data, const json_t *event), void *data, struct error *err);

/* --- clone.c ---------------------------------------------------------------------------------- */

/* The files of a session in its directory; *method: "reflink" or "copy", of the disk. */
int macos_clone(const struct base *base, const struct workspace *ws, const char **method,
		struct error *err);
/* A machine identifier that no other machine has, made by the supervisor. */
int macos_identify(const struct microagent *agent, const struct workspace *ws, struct error *err);
/* "macos" of a config, for the files of that directory. */
int macos_put_config(const char *directory, json_t *config, struct error *err);
/* Before anything is cloned: of a macOS base, that agent has such guests (ERR_UNSUPPORTED), and the
 * machine is as large as its macOS needs (ERR_INVALID). */
int macos_check_session(const struct microagent *agent, const struct base *base, int64_t memory_mib,
			int64_t cpus, struct error *err);
/* ERR_INVALID for a pool of more machines than may run at once. */
/* Of ports, before all of a disk is copied in vain. */
int macos_check_publish(const struct base *base, const char *const *publish, struct error *err);
int macos_check_pool(const struct base *base, int64_t size, struct error *err);

#endif
