/* SPDX-License-Identifier: MIT */
/*
 * Sessions of libmicroagent: for each task of an agent a machine that is cloned from a base, used,
 * and destroyed.
 *
 * A base is a disk that was provisioned once, verified and sealed; nothing ever writes to it again. A
 * session is a workspace in <state>/sessions whose disk is a copy-on-write clone of its base, so what
 * microagent.h says of workspaces (states, events, errors, who is alive) is true of sessions.
 *
 * Errors are as microagent.h has them. Threads: a `struct microagent *` is used by one thread at a
 * time; a `struct microagent_session *` by any number of threads at once. Every function blocks
 * until its work is done.
 */
#ifndef MICROAGENT_SESSION_H
#define MICROAGENT_SESSION_H

#include "microagent.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- bases --------------------------------------------------------------------------------- */

/* A base is named NAME-vN ("web-v3"); NAME alone is its newest version. NAME: a letter or digit, then
 * letters, digits, '.', '_' and '-', at most 32 in all. */

struct microagent_base_spec {
	const char *
		image; /* name in the cache, or a path with a '/' to a raw ext4 file; NULL: busybox */
	const char *kernel; /* the same for a kernel; NULL: the default */
	int64_t memory_mib; /* what its sessions get by default; 0: 256 */
	int64_t cpus;	    /* 0: 1 */
};

/* Makes the next version of the base called word and seals it. *base is what microagent_base_show() tells of it; a new
 * reference. On failure there is no base of it. */
int microagent_base_create(struct microagent *agent, const char *word,
			   const struct microagent_base_spec *spec, json_t **base,
			   struct error *err);
/* {"bases":[...]}: the metadata of each (schema/base.json), by name and version. One whose metadata is
 * damaged is listed with "name" and "error". */
json_t *microagent_base_list(struct microagent *agent, struct error *err);
/* metadata.json of a base (schema/base.json) with "path", its bundle. */
json_t *microagent_base_show(struct microagent *agent, const char *word, struct error *err);
/* Hashes what the base is made of and compares with what was recorded when it was sealed: {"ok",
 * "name","checks":[{"file","ok","error"?}]}. A difference is an answer, not an error. */
json_t *microagent_base_verify(struct microagent *agent, const char *word, struct error *err);
/* ERR_CONFLICT, naming one, when a session is made of it. */
int microagent_base_delete(struct microagent *agent, const char *word, struct error *err);

/* ---- sessions ------------------------------------------------------------------------------ */

/* Zero and NULL are the defaults, so start from {0}. Strings are borrowed for the call. */
struct microagent_session_spec {
	const char *base;	 /* required */
	int64_t memory_mib;	 /* 0: the base's, else 256 */
	int64_t cpus;		 /* 0: the base's, else 1 */
	const char *accelerator; /* as of struct microagent_spec, like the following */
	const char *network, *network_interface;
	const char *const *allow, *const *publish;
	const char *mediation;
	bool mediation_optional;
	const char *const *vsock;
};

struct microagent_session;

/* The session's disk, cloned, and its workspace, prepared; nothing runs yet. */
int microagent_session_clone_base(struct microagent *agent,
				  const struct microagent_session_spec *spec,
				  struct microagent_session **out, struct error *err);
/* Boots it; returns when the first command would succeed. On failure the session stays as it is,
 * for microagent_session_destroy(). */
int microagent_session_boot(struct microagent_session *session, struct error *err);
/* Both; on failure nothing of it is left. */
int microagent_session_create(struct microagent *agent, const struct microagent_session_spec *spec,
			      struct microagent_session **out, struct error *err);
/* One that was made before, by whomever. ERR_NOT_FOUND. */
int microagent_session_open(struct microagent *agent, const char *word,
			    struct microagent_session **out, struct error *err);
/* Ends its machine, removes all of it, and verifies that it is gone. The handle stays until
 * microagent_session_close(). One that is gone already is success. */
int microagent_session_destroy(struct microagent_session *session, struct error *err);
/* Forgets the handle; the session goes on. Accepts NULL. No other call may be at work on it. */
void microagent_session_close(struct microagent_session *session);

/* "session-2026-05-10T14-22-00Z-a7f3"; lives as long as the handle. */
const char *microagent_session_name(const struct microagent_session *session);
/* {"name","path","base","source":"new"|"pool","clone":"reflink"|"overlay","createdAt",
 * "timings":{"cloneMs"?,"bootMs"?}} (schema/session.json); timings in milliseconds, of what this handle
 * has done. A new reference; NULL: no memory. */
json_t *microagent_session_describe(const struct microagent_session *session, struct error *err);
/* {"sessions":[...]}: of each the above without timings, with "state" and "observedAt", by name. One
 * whose record is damaged is listed with "error". */
json_t *microagent_session_list(struct microagent *agent, struct error *err);

#ifdef __cplusplus
}
#endif

#endif
