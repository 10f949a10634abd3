/* SPDX-License-Identifier: MIT */
/*
 * Sessions of libmicroagent: for each task of an AI agent, a machine that is cloned from a base,
 * used, and destroyed.
 *
 * A base is a disk that was provisioned once, verified and sealed; nothing ever writes to it again.
 * A session is a workspace in <state>/sessions whose disk is a copy-on-write clone of its base.
 * What microagent.h says of workspaces (states, events, errors, which processes live) is therefore
 * true of sessions.
 *
 * Errors are as microagent.h describes them. Threads: a `struct microagent *` is used by one thread
 * at a time; a `struct microagent_session *` by any number of threads at once. Every function
 * blocks until its work is done.
 */
#ifndef MICROAGENT_SESSION_H
#define MICROAGENT_SESSION_H

#include "microagent.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* --- bases ----------------------------------------------------------------------------------- */

/* The names of bases: a base is named NAME-vN ("web-v3"); NAME alone stands for its newest version.
 * NAME is a letter or digit, then letters, digits, '.', '_' and '-', at most 32 characters in
 * all. */

/* Checks a word that names a base. ERR_INVALID if no base can have that name. */
int microagent_base_check_name(const char *word, struct error *err);

/* The kinds of lines that are reported while a base is provisioned. */
enum microagent_base_line {
	MICROAGENT_BASE_DOING,	/* what is done now, like "booting" */
	MICROAGENT_BASE_STEP,	/* a line of the script that began with "### ", without those
				 * characters */
	MICROAGENT_BASE_OUTPUT, /* another line of its stdout or stderr, or a part of a long one */
};

/* Zero and NULL are the defaults, so start from {0}. Strings are borrowed for the call. */
#define MICROAGENT_IPSW_LATEST "latest"

struct microagent_base_spec {
	const char *image; /* name in the cache, or a path with a '/' to a raw ext4 file; NULL:
			      busybox */
	/* Instead of image: one of the OCI or of Docker, as `microagent image import` takes it: a
	 * layout (a directory), an archive, or a registry's. It is imported into the cache first.
	 */
	const char *oci;
	/* Instead of image and kernel: macOS, on a Mac with Apple silicon, by the backend
	 * "apple-vf". A restore image, given by a path, or by its address at Apple
	 * (https://NAME.cdn-apple.com/...ipsw), from which it is fetched, or by
	 * MICROAGENT_IPSW_LATEST: the newest one that this Mac can run, according to Apple's
	 * catalog. The base keeps the restore image. size_mib is the size of the disk, 0: 64 GiB.
	 * The installed system is booted once before it is sealed, and script is then run as root,
	 * by sh -e. stage and accelerator cannot be used with it. */
	const char *ipsw;
	/* Only with ipsw: a program that is run on this host as `PROGRAM DISK` before that boot,
	 * and puts the agent on the disk. NULL: microagent-put-macos-agent. */
	const char *put_agent;
	const char *kernel; /* like image; NULL: the default */
	/* The machine on which the base is provisioned. Its architecture is the architecture of
	 * everything that is made from the base. Sessions of the base get memory_mib (0: 256) and
	 * cpus (0: 1) by default; for macOS 0 is what it needs. */
	struct microagent_machine machine;

	/* With oci or one of the next three fields, the base is provisioned; without them, the base
	 * is the unchanged image. Provisioning boots a machine on the disk, whose file system grows
	 * to the disk's size. The user `agent` (uid 1000) is made if there is none. The files are
	 * staged, and the script is run as root. Then `agent` loses the right to write outside of
	 * /workspace, /tmp and the home of `agent`, and the machine is switched off. */
	const char *script;	  /* path; run by its "#!", else by sh -e; NULL: none */
	const char *const *stage; /* paths of files that the script finds in $MICROAGENT_STAGE,
				   * NULL-terminated; NULL: none */
	int64_t size_mib;	  /* size of the disk; 0: the image's and 1 GiB, but at most 4 GiB;
				   * with oci: its contents' and 1 GiB, at most 4 GiB */
	int cancel; /* when readable, the work ends with ERR_UNAVAILABLE, and no base is made; 0:
		     * never */
	/* Called when the machine is up, on "kvm" or "tcg". NULL: not called. */
	void (*booted)(void *data, const char *accelerator);
	/* Called for each line. text ends with a NUL and has no newline. The text comes from the
	 * guest: do not print it on a terminal as it is. NULL: not called. */
	void (*said)(void *data, enum microagent_base_line kind, const char *text);
	/* Reports how far the step that was reported last has come; total 0: not known. NULL: not
	 * called. */
	void (*progressed)(void *data, uint64_t done, uint64_t total);
	void *data;
};

/* Makes the next version of the base called word and seals it. *base is what microagent_base_show()
 * returns for it; a new reference. On failure nothing of the version is left. If provisioning
 * failed, the message names the log, <state>/logs/base-NAME-TIME.log. */
int microagent_base_create(struct microagent *agent, const char *word,
			   const struct microagent_base_spec *spec, json_t **base,
			   struct error *err);
/* Zero and NULL are the defaults, so start from {0}. Strings are borrowed for the call. */
struct microagent_warm_spec {
	/* Commands that are run in the machine before it is saved, one after the other, each as
	 * microagent_session_run() runs it. Each command is a list of words that ends with NULL,
	 * and so does the list of commands. A command that fails ends the whole call. NULL:
	 * none. */
	const char *const *const *run;
	struct microagent_machine machine; /* only accelerator may differ from the base's */
	int cancel; /* when readable, the work ends with ERR_UNAVAILABLE, and no template is made;
		     * 0: never */
	/* As in struct microagent_base_spec. */
	void (*booted)(void *data, const char *accelerator);
	void (*said)(void *data, enum microagent_base_line kind, const char *text);
	void *data;
};

/* Makes a template of a base: boots a machine of the base, runs the commands of `run` in it, and
 * saves its memory and devices. The result becomes a template only if a machine that is restored
 * from it runs commands. microagent_session_boot() restores sessions of the base from the template
 * instead of booting them, if they have its memory and processors, and no bridge, published ports,
 * mediation, vsock ports or rates. Each session has an identity and randomness of its own. Where
 * QEMU, kernel, guest agent or host are not as they were, sessions boot, and
 * microagent_session_describe() says why. A new template replaces the old one, and no part of it is
 * used before all of it is there. *base (may be NULL) is what microagent_base_show() returns then.
 * ERR_CONFLICT if another call makes or drops the template just now; ERR_UNSUPPORTED for macOS, or
 * a backend that saves no machines. On failure the message names the log,
 * <state>/logs/base-NAME-TIME.log. */
int microagent_base_warm(struct microagent *agent, const char *word,
			 const struct microagent_warm_spec *spec, json_t **base, struct error *err);
/* Drops the template of a base. Running sessions are not touched. ERR_NOT_FOUND if there is
 * none. */
int microagent_base_cool(struct microagent *agent, const char *word, struct error *err);
/* Returns all bases, by name and version: {"bases":[...]}, each as microagent_base_show() returns
 * it. A base whose metadata is damaged is listed with "name" and "error". */
json_t *microagent_base_list(struct microagent *agent, struct error *err);
/* Returns metadata.json of a base (schema/base.json) with "path", its directory, and "template" if
 * it has one: when and with what the template was made, and how much disk and memory it takes. */
json_t *microagent_base_show(struct microagent *agent, const char *word, struct error *err);
/* Hashes the files of a base and compares the digests with those that were recorded when it was
 * sealed: {"ok","name","checks":[{"file","ok","error"?}]}. A difference is an answer, not an
 * error. */
json_t *microagent_base_verify(struct microagent *agent, const char *word, struct error *err);
/* Deletes a base. ERR_CONFLICT, naming a session, if a session is made from the base. */
int microagent_base_delete(struct microagent *agent, const char *word, struct error *err);

/* --- sessions -------------------------------------------------------------------------------- */

/* Zero and NULL are the defaults, so start from {0}. Strings are borrowed for the call. */
struct microagent_session_spec {
	const char *base; /* required */
	struct microagent_machine machine;
	const char
		*share; /* as the dir of microagent_session_share_workspace(), from the start; NULL:
			 * none */
	const char *share_at; /* NULL: /workspace, in macOS /Users/Shared/workspace */
	bool share_read_only;
	const char *share_cache; /* as in struct microagent_session_share, like the next */
	int64_t share_timeout_seconds;
	bool no_share; /* no directory can be given later either: a machine without a spare port,
			* which boots faster */
	bool cold; /* booted even if it could be restored (microagent_base_warm()), and not taken
		    * from a pool */
	int64_t disk_quota_mib; /* as for microagent_session_set_quota(); 0: the size of the base's
				 * disk, but at most 16 GiB */
	/* When the session is destroyed by itself: lifetime_seconds after it was made, running or
	 * not; and idle_seconds after the last moment at which a command ran in it or anybody had a
	 * connection to it. 0: never. A session that is in quarantine at that time stays. */
	int64_t lifetime_seconds, idle_seconds;
	/* The session is also destroyed when its handle is closed, or when this process ends in any
	 * way. This applies to microagent_session_create(), _clone_base() and _fork(), and the
	 * session stays owned after microagent_session_restore(). A session that is not owned has
	 * the same rule only until it is made: if this process ends before that, so does the
	 * machine. A session without a machine yet leaves a directory, which is removed before the
	 * next session is made. A child that this process forks does not count as this process. */
	bool owned;
	int cancel; /* when readable, the making ends with ERR_UNAVAILABLE and leaves nothing; 0:
		     * never */
};

struct microagent_session;

/* Checks a word that names a session. ERR_INVALID if no session can have that name; a name with
 * ".bundle" behind it is valid. */
int microagent_session_check_name(const char *word, struct error *err);
/* Checks a word that names an audit log; ERR_INVALID as above. Also valid is "sandbox-...", the
 * machine of a container of microagent-oci, in the state directory .machines below the root of
 * microagent-oci. */
int microagent_audit_check_name(const char *word, struct error *err);
/* Clones the session's disk and prepares its workspace; nothing runs yet. An owned session counts
 * as in the making until it is booted: nobody else can open it. If its handle is closed before
 * that, or this process ends, the session is removed when the next one is made, or by
 * microagent_session_gc(). */
int microagent_session_clone_base(struct microagent *agent,
				  const struct microagent_session_spec *spec,
				  struct microagent_session **out, struct error *err);
/* Boots a session. Gives the session again the directories that it has from a pool, or was given
 * while it ran. Returns when the first command would succeed. On failure the session stays as it
 * is, for microagent_session_destroy(). A machine that cannot be given the directories is ended,
 * unless it is in quarantine. */
int microagent_session_boot(struct microagent_session *session, struct error *err);
/* Checks whether the directories that the session's next machine will be given may be shared. The
 * error says which rule one of them breaks, before anything is started. */
int microagent_session_check_shares(const struct microagent_session *session, struct error *err);
/* Does only the last part of microagent_session_boot(), for a session that microagent_start()
 * started: gives its machine the directories that a running machine is given, if the session has
 * any. If that fails, the machine goes on without them, what is written in their places is lost
 * with the machine, and the audit log gets a line share.missing for each. */
int microagent_session_share_again(struct microagent_session *session, struct error *err);
/* Clones and boots a session, or claims a ready one: if there is a pool of the base
 * (microagent_pool_set()) and its sessions are as spec asks, one of them is claimed, and is then
 * given the share. On failure nothing of the session is left. If the caller is killed meanwhile,
 * the unfinished session is removed when the next one is made, or by microagent_session_gc(). */
int microagent_session_create(struct microagent *agent, const struct microagent_session_spec *spec,
			      struct microagent_session **out, struct error *err);
/* Opens a session that exists, no matter which process made it. ERR_NOT_FOUND if there is none. */
int microagent_session_open(struct microagent *agent, const char *word,
			    struct microagent_session **out, struct error *err);
/* Opens a session as microagent_session_open() does, and also one that another command is still
 * making, once its machine runs. Use such a handle only with microagent_status(),
 * microagent_quarantine(), microagent_halt(), microagent_stop() and microagent_kill(). The command
 * that makes the session fails when its machine is ended or quarantined; it keeps a quarantined
 * session and removes any other. */
int microagent_session_open_living(struct microagent *agent, const char *word,
				   struct microagent_session **out, struct error *err);
/* --- commands in a session ------------------------------------------------------------------- */

/*
 * Runs a command as microagent_guest_run() does, with the same limits, results and errors. The
 * first call connects. All later calls, from any number of threads, share that connection: requests
 * go out one after the other in the order in which they came. Answers come back as commands end,
 * and are told apart by their numbers.
 */
int microagent_session_run(struct microagent_session *session, const struct microagent_exec *exec,
			   const struct microagent_run_limits *limits,
			   struct microagent_result *out, struct error *err);
/* Runs a line of the shell: `sh -c line` in the guest. exec has the other options (env, cwd, user,
 * timeout_seconds). Its command is ignored, and exec may be NULL. */
int microagent_session_run_shell(struct microagent_session *session, const char *line,
				 const struct microagent_exec *exec,
				 const struct microagent_run_limits *limits,
				 struct microagent_result *out, struct error *err);

enum microagent_pieces {
	/* Whole lines with their newline. The last line of a stream may lack it. A line of more
	 * than MICROAGENT_LINE_MAX bytes comes in several pieces. */
	MICROAGENT_LINES,
	MICROAGENT_CHUNKS /* as they arrive */
};
#define MICROAGENT_LINE_MAX 65536

/* Run a command as microagent_guest_stream() does, on a connection of its own, so that a slow
 * callback holds up only its own command. */
int microagent_session_stream(struct microagent_session *session,
			      const struct microagent_exec *exec, enum microagent_pieces pieces,
			      const struct microagent_callbacks *callbacks,
			      const struct microagent_run_limits *limits,
			      struct microagent_result *out, struct error *err);
int microagent_session_stream_shell(struct microagent_session *session, const char *line,
				    const struct microagent_exec *exec,
				    enum microagent_pieces pieces,
				    const struct microagent_callbacks *callbacks,
				    const struct microagent_run_limits *limits,
				    struct microagent_result *out, struct error *err);
/* Returns the guest of a booted session, for files and the other functions of microagent.h. The
 * guest belongs to the session, and the caller must not close it. */
struct microagent_guest *microagent_session_guest(struct microagent_session *session,
						  struct error *err);

/* --- its directories ------------------------------------------------------------------------- */

/*
 * Gives a running session a directory of this host, mounted at the path `at` (NULL: /workspace)
 * with nosuid and nodev. A session is given directories once, all together, and none if it has no
 * spare port (no_share). Later machines of the session are given the same ones again
 * (microagent_session_boot(), _share_again() and _restore()).
 *
 * In the directory the guest's uid and gid 1000 stand for the caller's, so files that the session's
 * agent writes belong to the caller. No other user of the host has an id there. A base with a
 * "user" of its own (microagent_base_show()) runs commands as that user by default. That user can
 * write there only with uid 1000; microagent_exec.user "1000" can write there.
 * microagent-request(5) says which directories are refused.
 *
 * *share (may be NULL) is {"path","mountpoint","mode"}, a new reference. ERR_CONFLICT if the
 * session is not running, is quarantined, or has a directory. ERR_UNAVAILABLE names a package that
 * is missing. After an error the session goes on without the directory; the one exception is the
 * error that says that the directory could not be recorded for later machines.
 */
int microagent_session_share_workspace(struct microagent_session *session, const char *dir,
				       const char *at, bool read_only, json_t **share,
				       struct error *err);

/* A directory of the host for a session. Start from {0}. */
struct microagent_session_share {
	const char *dir; /* required */
	const char *at;
	bool read_only;
	/* Allows also a store of keys, or the home directory: the guest can then read all of it.
	 * The session's audit log has a warning about it. */
	bool anyway;
	/* What the guest caches of the directory: "auto", "always" (the guest does not see what
	 * this host changes) or "none"; NULL: auto. */
	const char *cache;
	/* For how many seconds the guest keeps names and attributes, from 1 to 86400; 0: with
	 * "auto" one second. */
	int64_t timeout_seconds;
};
/* Gives a session one directory as microagent_session_share_workspace() does, with all options.
 * *told also has "anyway", "cache" and "timeoutSeconds" if they were given. ERR_UNSUPPORTED if the
 * backend has no such caching. */
int microagent_session_give_share(struct microagent_session *session,
				  const struct microagent_session_share *share, json_t **told,
				  struct error *err);
/* Gives a session all directories that the spec names: share with its options, and shares,
 * share_anyway and share_git of its machine; up to 8, all or none. *told (may be NULL) is an array
 * in this order, with what share_git adds at its end. */
int microagent_session_give_shares(struct microagent_session *session,
				   const struct microagent_session_spec *spec, json_t **told,
				   struct error *err);

/* Changes the network of a session as microagent_change_network() does. */
int microagent_session_change_network(struct microagent_session *session,
				      enum microagent_network_change change, const char *word,
				      json_t **network, struct error *err);

/* --- its disk -------------------------------------------------------------------------------- */

/*
 * Sets the quota of a session: its disk may take up to mib MiB of the host's disk for itself,
 * beside the base from which it is cloned. A session at its quota is paused with its commands. Its
 * event says so, its audit log has a CRITICAL line, and requests to it fail with ERR_UNAVAILABLE.
 * The session goes on only when its quota is raised; it may be destroyed as it is. While it runs,
 * the quota can only be raised. At no time can the quota be less than what the disk has grown to.
 * *disk (may be NULL) is {"quotaBytes","grownBytes"}, a new reference. ERR_CONFLICT if the quota is
 * too small, or the session is neither running nor ended; ERR_INVALID.
 */
int microagent_session_set_quota(struct microagent_session *session, int64_t mib, json_t **disk,
				 struct error *err);

/* --- forks and snapshots --------------------------------------------------------------------- */

/*
 * A machine that was restored from a template, or goes on from a fork or a snapshot, can be saved
 * with all that runs in it. The machine stands still for a moment ("pauseMs"). ERR_CONFLICT says
 * what is in the way: the machine was booted, does not run, is paused, quarantined, being saved, or
 * has a directory of the host. The new machine has an identity of its own (name, host name, the
 * host keys of its sshd, the randomness of its kernel), no connections and no share. The memory of
 * processes is the same in all of them, also keys and the state of a process's random number
 * generator (OpenSSL, Python's random): see on_fork.
 */

/* How a session is forked. Start from {0}. */
struct microagent_fork_spec {
	int64_t count; /* of children, 1 to 100 */
	int cancel;    /* when readable, the making ends with ERR_UNAVAILABLE; 0: never */
	bool owned;    /* as in struct microagent_session_spec: each child ends with its handle */
	/* A command that is run in each child before it is handed out, as by
	 * microagent_session_run(). If the command exits with another code than 0, or does not
	 * end within its timeout_seconds (0: 60; at most 600), the whole fork fails. NULL: none. */
	const struct microagent_exec *on_fork;
};
/*
 * Makes spec->count new sessions that go on from where this session is. Each child has a copy of
 * this session's disk, the same settings and quota, and a new lifetime. The children outlive this
 * session. All of them or none are made: it is an error if one would have to be booted instead, or
 * was ended or quarantined meanwhile. A child in quarantine stays, and the error names it. children
 * has room for count handles; the caller closes each. *told (may be NULL):
 * {"pauseMs","stateBytes","diskBytes"}, a new reference.
 */
int microagent_session_fork(struct microagent_session *session,
			    const struct microagent_fork_spec *spec,
			    struct microagent_session **children, json_t **told, struct error *err);
/* Checks a word that names a snapshot. ERR_INVALID if no snapshot can have that name. */
int microagent_snapshot_check_name(const char *word, struct error *err);
/*
 * Keeps the present state of a session, with its disk, as a snapshot under a name. The snapshot
 * stays until it is deleted or the session is destroyed. The disks of a session's snapshots count
 * against its quota. *told (may be NULL): {"name","createdAt","stateBytes","diskBytes","pauseMs"},
 * a new reference. ERR_CONFLICT also if there is a snapshot of that name.
 */
int microagent_session_snapshot(struct microagent_session *session, const char *name, json_t **told,
				struct error *err);
/*
 * Restores a session to a snapshot: ends the session's machine, if one runs, drops the changes of
 * the disk since the snapshot, and goes on from the snapshot. The session is given its directories
 * again.
 *
 * *told (may be NULL): {"name","createdAt","stateBytes","diskBytes","boot":{"how","why"?},
 * "unshared"?}, a new reference. If the machine does not fit the snapshot any more (another QEMU or
 * kernel), it is booted from the snapshot's disk: how is then "cold", and why says the reason. If
 * the directories could not be given to the machine, it goes on without them, and unshared says
 * why. ERR_NOT_FOUND; ERR_CONFLICT if the session is quarantined, or the snapshot is damaged; the
 * errors of microagent_session_check_shares(). After these errors nothing has changed.
 */
int microagent_session_restore(struct microagent_session *session, const char *name, json_t **told,
			       struct error *err);
/* Returns the snapshots of a session by name: {"snapshots":[...]}, each as
 * {"name","createdAt","stateBytes","diskBytes","pauseMs"}, or a damaged one as {"name","error"}. A
 * new reference. */
json_t *microagent_session_snapshots(struct microagent_session *session, struct error *err);
/* Deletes a snapshot. ERR_NOT_FOUND; ERR_CONFLICT if the session is being restored to it just
 * now. */
int microagent_session_snapshot_delete(struct microagent_session *session, const char *name,
				       struct error *err);

/* Ends the session's machine, removes all of the session, and verifies that it is gone. The handle
 * stays until microagent_session_close(). Succeeds if the session is gone already. If this process
 * is killed meanwhile, the work is continued when the next session is made, by
 * microagent_session_gc() or by another call for this session. ERR_CONFLICT if another process
 * destroys the session just now, or has just claimed it from its pool; or if it is in quarantine
 * (REASON_SESSION_QUARANTINED): then it stays as it is. */
int microagent_session_destroy(struct microagent_session *session, struct error *err);
/* Destroys a session by its name, also the remains of a killed call, and also a session in
 * quarantine: a caller that names it wants it gone. ERR_NOT_FOUND; ERR_CONFLICT also for a
 * directory that is no session. */
int microagent_session_destroy_named(struct microagent *agent, const char *word, struct error *err);
/* Frees the handle; a session that is not owned goes on. Accepts NULL. No other call may be using
 * it. */
void microagent_session_close(struct microagent_session *session);

/* Returns the name, like "session-2026-05-10T14-22-00Z-a7f3"; it lives as long as the handle. */
const char *microagent_session_name(const struct microagent_session *session);
/* Returns a description of a session (schema/session.json), a new reference; NULL: no memory.
 * {"name","path","base","accelerator"?,"source":"new"|"pool"|"fork","parent"?,
 * "clone":"reflink"|"overlay"|"copy","createdAt","quotaBytes","template"?,"cold"?,
 * "boot"?:{"how":"restored"|"cold","why"?},"lifetimeSeconds"?,"endsAt"?,"idleSeconds"?,
 * "shares"?:[{"path","mountpoint","mode"}],"timings":{"cloneMs"?,"bootMs"?,"claimMs"?}}
 * template is the digest of the record of the base's template for which the session was made. cold
 * says why the present template was not used. boot says whether the machine was restored when it
 * was started. timings are in milliseconds, for what this handle has done: cloneMs for making the
 * directory, its disk and its record; bootMs from the start of the machine until its first command
 * would succeed. Preparing the workspace, between the two, is in neither. */
json_t *microagent_session_describe(const struct microagent_session *session, struct error *err);
/* Returns all sessions by name: {"sessions":[...]}, each as microagent_session_describe() returns
 * it but without timings. Each also has "state" with its "detail" (and "reason"?), "observedAt",
 * "grownBytes" of its disk (but not of a reflink that is in use), and "shares" if it has
 * directories. A session whose record is damaged is listed with "error", and one that waits in a
 * pool with "pooled":true. */
json_t *microagent_session_list(struct microagent *agent, struct error *err);
/* Finds what a crash or a reboot has left, and removes it or records its present state:
 * {"removed":[{"name","why"}],"adopted":[{"name","why"}],"left"?:[{"name","why"}]}. The names are
 * those of sessions, and "pool/BASE". removed also has the directories of bases in the making, and
 * "SESSION/FILE" and "BASE/.warming" for parts of a session or base that stays. left has what
 * cannot be removed, and why not. What a living process is making, and directories that are no
 * sessions, are left alone. */
json_t *microagent_session_gc(struct microagent *agent, struct error *err);
/* Removes the archives of sessions that were destroyed more than that many seconds ago:
 * {"removed":[{"name","why"}],"left"?:[{"name","why"}]}. The security log gets a line for each. */
json_t *microagent_archive_remove_older(struct microagent *agent, int64_t seconds,
					struct error *err);

/* --- pools ----------------------------------------------------------------------------------- */

/* Which sessions a pool keeps. Start from {0}. */
struct microagent_pool_spec {
	const char *base; /* required; NAME stands for the version that is the newest now, also
			   * later */
	int64_t size;	  /* sessions that are kept ready; at least 1 */
	struct microagent_machine machine; /* the machine of each session; its network is nat or
					    * isolated */
};

/*
 * Keeps spec->size sessions of a base ready, with the handle's backend, booted and tested, from
 * which microagent_session_create() claims. Returns at once: a process in the background makes the
 * sessions one after the other, and only with processors and disks that nothing else needs. It
 * makes none within two seconds of a claim, and none for which the host has no room. Its log is
 * <state>/pool/<base>/filler.log. Sessions beyond the size, and sessions that differ from what is
 * asked for now, are destroyed. ERR_INVALID for more than the host can ever have.
 */
int microagent_pool_set(struct microagent *agent, const struct microagent_pool_spec *spec,
			struct error *err);
/* Returns all pools by base:
 * {"pools":[{"base","backend","size","ready","filling","detail"?,"reason"?}]}. filling: a process
 * is making sessions for it. detail: why fewer sessions wait than should, unless they are being
 * made. */
json_t *microagent_pool_status(struct microagent *agent, struct error *err);
/* Removes a pool. Returns when the process in the background and all sessions that waited are gone.
 * Claimed sessions stay. word is a base, NAME for all its versions, or NULL for all pools.
 * ERR_NOT_FOUND. */
int microagent_pool_drain(struct microagent *agent, const char *word, struct error *err);
/* Does the work of the background process: fills the pool of the base NAME-vN. Returns when the
 * pool is full, or at once, with success, if another process is filling it already. The calling
 * process gets the idle scheduling class and keeps it. lock_fd is -1, or the pool's lock, which the
 * process that started this one already holds; this call closes lock_fd. */
int microagent_pool_fill(struct microagent *agent, const char *word, int lock_fd,
			 struct error *err);

/* --- audit logs ------------------------------------------------------------------------------ */

/* Audit logs: each session has one from the moment it is made. The audit log of a destroyed session
 * is kept in <state>/archive. */

/* Hands the lines of a session's audit log (schema/audit-line.json) to fn unchanged, one after the
 * other: len bytes with the newline; the last line may be cut short. If fn returns -1, the reading
 * ends with the error of fn. ERR_NOT_FOUND. */
int microagent_audit_read(struct microagent *agent, const char *word,
			  int (*fn)(void *data, const char *line, size_t len, struct error *err),
			  void *data, struct error *err);
/* Hands over the lines of telemetry.jsonl (schema/audit-telemetry.json) in the same way, also of a
 * destroyed session. The guest has written these lines, so they are not trusted. ERR_NOT_FOUND if
 * there is no such session (then with the reason REASON_NO_AUDIT_LOG), or its guest has sent
 * none. */
int microagent_audit_telemetry(struct microagent *agent, const char *word,
			       int (*fn)(void *data, const char *line, size_t len,
					 struct error *err),
			       void *data, struct error *err);
/* Checks whether an audit log is as it was written:
 * {"ok","verdict":"open"|"closed"|"torn"|"broken",
 * "lines","badLine"?,"why"?,...,"telemetry":{"verdict":"none"|"whole"|"altered"|"missing",...}}
 * (schema/cli-audit-verify.json). ok is true if the verdict is open or closed, and telemetry.jsonl
 * matches its digests in the log. A bad log is an answer, not an error. */
json_t *microagent_audit_verify(struct microagent *agent, const char *word, struct error *err);
/* Returns all audit logs by session:
 * {"audits":[{"session","where":"session"|"archive","path","bytes"}]}. */
json_t *microagent_audit_list(struct microagent *agent, struct error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
