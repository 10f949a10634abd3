/* SPDX-License-Identifier: MIT */
/*
 * Sessions of libmicroagent: for each task of an agent a machine that is cloned from a base, used,
 * and destroyed.
 *
 * A base is a disk that was provisioned once, verified and sealed; nothing ever writes to it again.
 * A session is a workspace in <state>/sessions whose disk is a copy-on-write clone of its base, so
 * what microagent.h says of workspaces (states, events, errors, who is alive) is true of sessions.
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
#pragma GCC visibility push(default)

/* --- bases ----------------------------------------------------------------------------------- */

/* A base is named NAME-vN ("web-v3"); NAME alone is its newest version. NAME: a letter or digit,
 * then letters, digits, '.', '_' and '-', at most 32 in all. */

/* ERR_INVALID for a word that can name no base. */
int microagent_base_check_name(const char *word, struct error *err);

/* What is said while a base is provisioned, line by line. */
enum microagent_base_line {
	MICROAGENT_BASE_DOING,	/* what is done now: "booting" */
	MICROAGENT_BASE_STEP,	/* a line of the script that began with "### ", without that */
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
	 * "apple-vf". A restore image, as a path, or as its address at Apple
	 * (https://NAME.cdn-apple.com/...ipsw), from where it is fetched, or
	 * MICROAGENT_IPSW_LATEST: the newest that this Mac can run, which Apple's catalog names. The
	 * base keeps it.
	 * size_mib is the disk's, 0: 64 GiB. What was installed is booted once before it is sealed,
	 * and script is run as root then, by sh -e. stage and accelerator are not for it. */
	const char *ipsw;
	/* Of ipsw: run on this host, as `PROGRAM DISK`, to put the agent on the disk before that
	 * boot; NULL: microagent-put-macos-agent. */
	const char *put_agent;
	const char *kernel; /* as image; NULL: the default */
	/* That on which it is provisioned; architecture is that of all that is made of the base. Its
	 * sessions get memory_mib (0: 256) and cpus (0: 1) by default; of macOS 0 is what it needs.
	 */
	struct microagent_machine machine;

	/* With oci or one of the next three the base is provisioned, else it is the image as it is:
	 * a machine is booted on its disk, whose file system grows to the disk's size; the user
	 * `agent` (uid 1000) is made where there is none; the files are staged, the script is run
	 * as root; what `agent` could write beside /workspace, /tmp and his home is taken from him;
	 * and the machine is switched off. */
	const char *script;	  /* path; run by its "#!", else by sh -e; NULL: none */
	const char *const *stage; /* paths of files that it finds in $MICROAGENT_STAGE,
				   * NULL-terminated; NULL: none */
	int64_t size_mib;	  /* of the disk; 0: the image's and 1 GiB, but at most 4 GiB; of
				   * oci: its contents' and 1 GiB, at most 4 GiB */
	int cancel; /* when readable it ends, ERR_UNAVAILABLE, and no base is made; 0: never */
	/* The machine is up, on "kvm" or "tcg". NULL: not told. */
	void (*booted)(void *data, const char *accelerator);
	/* text has a NUL behind it, and no newline; it is the guest's, so not for a terminal as it
	 * is. NULL: not told. */
	void (*said)(void *data, enum microagent_base_line kind, const char *text);
	/* Of what was said to be done last; total 0: not known. NULL: not told. */
	void (*progressed)(void *data, uint64_t done, uint64_t total);
	void *data;
};

/* Makes the next version of the base called word and seals it. *base is what microagent_base_show()
 * tells of it; a new reference. On failure there is no base of it; where provisioning failed the
 * message names its log, <state>/logs/base-NAME-TIME.log. */
int microagent_base_create(struct microagent *agent, const char *word,
			   const struct microagent_base_spec *spec, json_t **base,
			   struct error *err);
/* Zero and NULL are the defaults, so start from {0}. Strings are borrowed for the call. */
struct microagent_warm_spec {
	/* Commands that are run in the machine before it is saved, one after the other, each as
	 * microagent_session_run() runs it, words up to NULL; NULL-terminated. One that fails ends
	 * it. NULL: none. */
	const char *const *const *run;
	struct microagent_machine machine; /* the base's but for accelerator */
	int cancel; /* when readable it ends, ERR_UNAVAILABLE, and no template is made; 0: never */
	/* As of struct microagent_base_spec. */
	void (*booted)(void *data, const char *accelerator);
	void (*said)(void *data, enum microagent_base_line kind, const char *text);
	void *data;
};

/* Makes a template of a base: a machine of it is booted, run is run in it, and its memory and
 * devices are saved; it is a template if a machine that is restored from that runs commands.
 * Sessions of the base that have its memory and processors, and no bridge,
 * published ports, mediation, vsock ports or rates, are restored from it by
 * microagent_session_boot() instead of booted, each with an identity and randomness of its own;
 * where QEMU, kernel, guest agent or host are not what they were they boot, and
 * microagent_session_describe() says why. It is replaced by a new one, and none of it is used
 * before all of it is there. *base (may be NULL) is what microagent_base_show() tells then.
 * ERR_CONFLICT: another call makes or drops it just now; ERR_UNSUPPORTED: macOS, or a backend that
 * saves no machines. On failure the message names the log, <state>/logs/base-NAME-TIME.log. */
int microagent_base_warm(struct microagent *agent, const char *word,
			 const struct microagent_warm_spec *spec, json_t **base, struct error *err);
/* Drops it. Sessions that run are not touched. ERR_NOT_FOUND where there is none. */
int microagent_base_cool(struct microagent *agent, const char *word, struct error *err);
/* {"bases":[...]}: of each what microagent_base_show() tells, by name and version. One whose
 * metadata is damaged is listed with "name" and "error". */
json_t *microagent_base_list(struct microagent *agent, struct error *err);
/* metadata.json of a base (schema/base.json) with "path", its bundle, and "template" where it has
 * one: when and with what it was made, and what it takes of disk and memory. */
json_t *microagent_base_show(struct microagent *agent, const char *word, struct error *err);
/* Hashes what the base is made of and compares with what was recorded when it was sealed: {"ok",
 * "name","checks":[{"file","ok","error"?}]}. A difference is an answer, not an error. */
json_t *microagent_base_verify(struct microagent *agent, const char *word, struct error *err);
/* ERR_CONFLICT, naming one, when a session is made of it. */
int microagent_base_delete(struct microagent *agent, const char *word, struct error *err);

/* --- sessions -------------------------------------------------------------------------------- */

/* Zero and NULL are the defaults, so start from {0}. Strings are borrowed for the call. */
struct microagent_session_spec {
	const char *base; /* required */
	struct microagent_machine machine;
	const char
		*share; /* as of microagent_session_share_workspace(), from the start; NULL: none */
	const char *share_at; /* NULL: /workspace, in macOS /Users/Shared/workspace */
	bool share_read_only;
	const char *share_cache; /* as of struct microagent_session_share, like the next */
	int64_t share_timeout_seconds;
	bool no_share; /* none later either: a machine without a spare port, which boots faster */
	bool cold; /* booted also where it could be restored (microagent_base_warm()), and not taken
		    * from a pool */
	int64_t disk_quota_mib; /* as of microagent_session_set_quota(); 0: the size of the base's
				 * disk, and at most 16 GiB */
	/* When it is destroyed by itself: so many seconds after it was made, running or not; and
	 * after so many in which no command ran in it and nobody had a connection to it. 0: not.
	 * One that is quarantined by then stays. */
	int64_t lifetime_seconds, idle_seconds;
	/* It is also destroyed when its handle is closed, or this process ends, however that comes
	 * about; of microagent_session_create(), _clone_base() and _fork(). It stays so after
	 * microagent_session_restore(). Without it the same holds until it is made: the end of this
	 * process is its machine's. Of a session without a machine yet a directory is left, which
	 * goes before the next one is made. A child that this process forks is no part of it. */
	bool owned;
	int cancel; /* when readable the making ends, ERR_UNAVAILABLE, and nothing of it is left; 0:
		       never */
};

struct microagent_session;

/* ERR_INVALID for a word that can name no session; one with ".bundle" behind the name can. */
int microagent_session_check_name(const char *word, struct error *err);
/* The same for a word that can name an audit log: also "sandbox-...", the machine of a container of
 * microagent-oci's, in the state directory .machines below its root. */
int microagent_audit_check_name(const char *word, struct error *err);
/* The session's disk, cloned, and its workspace, prepared; nothing runs yet. An owned one counts as
 * in the making until it is booted: nobody else can open it, and where its handle is closed before,
 * or this process ends, it is removed as the next session is made or by microagent_session_gc(). */
int microagent_session_clone_base(struct microagent *agent,
				  const struct microagent_session_spec *spec,
				  struct microagent_session **out, struct error *err);
/* Boots it, and gives it the directories again that it has from a pool, or was given while it ran;
 * returns when the first command would succeed. On failure the session stays as it is, for
 * microagent_session_destroy(); a machine that cannot be given them is ended, unless it is in
 * quarantine. */
int microagent_session_boot(struct microagent_session *session, struct error *err);
/* Whether the directories may be shared that its next machine is to be given when it runs: what is
 * wrong with one by the rules, before anything is started. */
int microagent_session_check_shares(const struct microagent_session *session, struct error *err);
/* The last part of microagent_session_boot() alone, of one that was started by microagent_start():
 * the directories that are given to a machine when it runs, if the session has any. Where that
 * fails the machine goes on without them, what is written in their places is lost with it, and the
 * audit log has a line share.missing of each. */
int microagent_session_share_again(struct microagent_session *session, struct error *err);
/* Both, or one that is ready: where a pool of the base is kept (microagent_pool_set()) and what
 * spec asks for is what its sessions have, one of them is claimed; share is given to it then. On
 * failure nothing of it is left; also not when the caller is killed meanwhile: what it was making
 * is removed by the next one, or by microagent_session_gc(). */
int microagent_session_create(struct microagent *agent, const struct microagent_session_spec *spec,
			      struct microagent_session **out, struct error *err);
/* One that was made before, by whomever. ERR_NOT_FOUND. */
int microagent_session_open(struct microagent *agent, const char *word,
			    struct microagent_session **out, struct error *err);
/* Opens a session as microagent_session_open() does, and also one that another command is still making,
 * once its machine runs. Use such a handle only with microagent_status(), microagent_quarantine(),
 * microagent_halt(), microagent_stop() and microagent_kill(). The command that makes the session fails
 * when its machine is ended or quarantined; it keeps a quarantined session and removes any other. */
int microagent_session_open_living(struct microagent *agent, const char *word,
				   struct microagent_session **out, struct error *err);
/* --- commands in a session ------------------------------------------------------------------- */

/*
 * As microagent_guest_run(), which has limits, results and errors. The first one connects, and all
 * that follow, of any number of threads, share that connection: requests go out one after the other
 * in the order in which they came, answers come back as commands end, told apart by their numbers.
 */
int microagent_session_run(struct microagent_session *session, const struct microagent_exec *exec,
			   const struct microagent_run_limits *limits,
			   struct microagent_result *out, struct error *err);
/* The same for a line of the shell: `sh -c line` in the guest. exec says the rest (env, cwd, user,
 * timeout_seconds); its command is not looked at, and it may be NULL. */
int microagent_session_run_shell(struct microagent_session *session, const char *line,
				 const struct microagent_exec *exec,
				 const struct microagent_run_limits *limits,
				 struct microagent_result *out, struct error *err);

enum microagent_pieces {
	/* Whole lines with their newline; the last one of a stream may lack it, and one of more
	 * than MICROAGENT_LINE_MAX bytes comes in several. */
	MICROAGENT_LINES,
	MICROAGENT_CHUNKS /* as they arrive */
};
#define MICROAGENT_LINE_MAX 65536

/* As microagent_guest_stream(), on a connection of its own, so that a slow callback holds up its
 * own command alone. */
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
/* The guest of a session that has been booted, for files and the rest of microagent.h. It belongs
 * to the session and must not be closed. */
struct microagent_guest *microagent_session_guest(struct microagent_session *session,
						  struct error *err);

/* --- its directories ------------------------------------------------------------------------- */

/*
 * Gives a running session a directory of this host, mounted on the path at (NULL: /workspace) with
 * nosuid and nodev. Directories are given once, all together, and none without a spare port
 * (no_share); the session's later machines are given them again (microagent_session_boot(),
 * _share_again() and _restore()). In it the session's uid and gid 1000 are yours, so what its agent writes is yours; nobody else of the
 * host is anybody there. A base with a "user" of its own (microagent_base_show()) runs commands as
 * that one by default, who cannot write there unless he is uid 1000: microagent_exec.user "1000"
 * can. Which directories are refused microagent-request(5) tells. *share (may be NULL) is
 * {"path","mountpoint","mode"}, a new reference. ERR_CONFLICT: not running, quarantined, or has
 * one; ERR_UNAVAILABLE names the package that is missing. After an error the session goes on
 * without it, but for one that says that it could not be recorded for later machines.
 */
int microagent_session_share_workspace(struct microagent_session *session, const char *dir,
				       const char *at, bool read_only, json_t **share,
				       struct error *err);

/* Zero and NULL are the defaults, so start from {0}. */
struct microagent_session_share {
	const char *dir; /* required */
	const char *at;
	bool read_only;
	/* Also a store of keys, or the home: all of it is the guest's to read. The session's audit
	 * log has it as a warning. */
	bool anyway;
	/* What the guest keeps of it: "auto", "always" (what this host changes is not seen) or
	 * "none"; NULL: auto. */
	const char *cache;
	/* How long it keeps names and attributes, from 1 to 86400; 0: of auto one second. */
	int64_t timeout_seconds;
};
/* The same with all that can be said of it; *told also has "anyway", "cache" and "timeoutSeconds"
 * where they were given. ERR_UNSUPPORTED: the backend has no such policy. */
int microagent_session_give_share(struct microagent_session *session,
				  const struct microagent_session_share *share, json_t **told,
				  struct error *err);
/* The same with all that the spec names: share and what belongs to it, shares, share_anyway and
 * share_git of its machine; up to 8, all or none. *told (may be NULL) is an array, in this order
 * and with what git adds behind them. */
int microagent_session_give_shares(struct microagent_session *session,
				   const struct microagent_session_spec *spec, json_t **told,
				   struct error *err);

/* As microagent_change_network(), of a session. */
int microagent_session_change_network(struct microagent_session *session,
				      enum microagent_network_change change, const char *word,
				      json_t **network, struct error *err);

/* --- its disk -------------------------------------------------------------------------------- */

/*
 * Lets the session's disk have up to mib MiB of the host's disk for itself, beside the base that it
 * is a clone of. At its quota a session is paused, its commands with it: its event says so, its
 * audit log has a CRITICAL line, what is asked of it is ERR_UNAVAILABLE. It goes on when it is
 * given more, and not by itself; it may be destroyed as it is. While it runs the quota can be
 * raised alone, and not be less than what it has grown to at any time. *disk (may be NULL) is
 * {"quotaBytes","grownBytes"}, a new reference. ERR_CONFLICT: less, or it is neither running nor
 * ended; ERR_INVALID.
 */
int microagent_session_set_quota(struct microagent_session *session, int64_t mib, json_t **disk,
				 struct error *err);

/* --- forks and snapshots --------------------------------------------------------------------- */

/*
 * A machine that was restored from a template, or goes on from a fork or a snapshot, can be saved
 * with all that runs in it: it stands still for a moment, of which "pauseMs" tells. ERR_CONFLICT,
 * with what is in the way: it was booted, it does not run, is paused, quarantined, being saved, or
 * has a directory of the host. What comes of it has an identity of its own (name, host name, the
 * host keys of its sshd, the randomness of its kernel), no connections and no share. What a process
 * has in its memory is the same in all of them, as keys and the state of its random number
 * generator (OpenSSL, Python's random): see on_fork.
 */

/* Start from {0}. */
struct microagent_fork_spec {
	int64_t count; /* of children, 1 to 100 */
	int cancel;    /* when readable the making ends, ERR_UNAVAILABLE; 0: never */
	bool owned;    /* as of struct microagent_session_spec: each ends with its handle */
	/* A command that is run in each child before it is handed out, as by
	 * microagent_session_run(). If the command exits with another code than 0, or does not
	 * end within its timeout_seconds (0: 60; at most 600), the whole fork fails. NULL: none. */
	const struct microagent_exec *on_fork;
};
/*
 * So many new sessions that go on from where this one is: a copy of its disk, and what it was made
 * with, also its quota, and the lifetime anew. They outlive it. All of them or none are made; one
 * that would have to be booted instead is an error, and so is one that was ended or quarantined
 * meanwhile. What is in quarantine stays: the error names it. children has room for count handles, each to be
 * closed. *told (may be NULL): {"pauseMs","stateBytes","diskBytes"}, a new reference.
 */
int microagent_session_fork(struct microagent_session *session,
			    const struct microagent_fork_spec *spec,
			    struct microagent_session **children, json_t **told, struct error *err);
/* ERR_INVALID for a word that can name no snapshot. */
int microagent_snapshot_check_name(const char *word, struct error *err);
/*
 * Keeps the session as it is now under a name, with its disk, until that is deleted or the session
 * is destroyed. The disks of its snapshots count against its quota. *told (may be NULL):
 * {"name","createdAt","stateBytes","diskBytes","pauseMs"}, a new reference. ERR_CONFLICT also where
 * there is one of that name.
 */
int microagent_session_snapshot(struct microagent_session *session, const char *name, json_t **told,
				struct error *err);
/*
 * Ends its machine, if one runs, and what has become of its disk since, and goes on from the
 * snapshot. It is given its directories again. *told (may be NULL): {"name","createdAt",
 * "stateBytes","diskBytes","boot":{"how","why"?},"unshared"?}, a new reference: where the machine
 * does not fit the snapshot any more (another QEMU or kernel), it is booted from the snapshot's
 * disk, "cold", and why says so; where its directories could not be given to it, it goes on without
 * them, and unshared says why. ERR_NOT_FOUND; ERR_CONFLICT: it is quarantined, or the snapshot is
 * damaged; the errors of microagent_session_check_shares(): nothing has happened.
 */
int microagent_session_restore(struct microagent_session *session, const char *name, json_t **told,
			       struct error *err);
/* {"snapshots":[...]}, by name: of each {"name","createdAt","stateBytes","diskBytes","pauseMs"}, or
 * of one that is damaged {"name","error"}. A new reference. */
json_t *microagent_session_snapshots(struct microagent_session *session, struct error *err);
/* ERR_NOT_FOUND; ERR_CONFLICT: it is gone back to just now. */
int microagent_session_snapshot_delete(struct microagent_session *session, const char *name,
				       struct error *err);

/* Ends its machine, removes all of it, and verifies that it is gone. The handle stays until
 * microagent_session_close(). One that is gone already is success. If this process is killed
 * meanwhile, the next session that is made, microagent_session_gc() or another call for this one
 * goes on with it. ERR_CONFLICT: somebody else destroys it just now, or has just claimed it from
 * its pool; or it is in quarantine (REASON_SESSION_QUARANTINED), and stays as it is. */
int microagent_session_destroy(struct microagent_session *session, struct error *err);
/* The same by its name, also of what a killed call has left of it, and of a session in quarantine:
 * whoever names it wants it gone. ERR_NOT_FOUND; ERR_CONFLICT also for a directory that is no
 * session. */
int microagent_session_destroy_named(struct microagent *agent, const char *word, struct error *err);
/* Forgets the handle; the session goes on. Accepts NULL. No other call may be at work on it. */
void microagent_session_close(struct microagent_session *session);

/* "session-2026-05-10T14-22-00Z-a7f3"; lives as long as the handle. */
const char *microagent_session_name(const struct microagent_session *session);
/* {"name","path","base","accelerator"?,"source":"new"|"pool"|"fork","parent"?,"clone":"reflink"|"overlay"|"copy","createdAt","quotaBytes",
 * "template"?,"cold"?,"boot"?:{"how":"restored"|"cold","why"?},
 * "lifetimeSeconds"?,"endsAt"?,"idleSeconds"?,
 * "shares"?:[{"path","mountpoint","mode"}],"timings":{"cloneMs"?,"bootMs"?,"claimMs"?}}
 * (schema/session.json); timings in milliseconds, of what this handle has done: cloneMs is the
 * directory, its disk and its record, bootMs starting its machine until its first command would
 * succeed, and preparing the workspace, between the two, is in neither. template: the
 * digest of the record of the base's template that it was made for; cold: why not for the one that
 * there is; boot: what became of that when its machine was started. A new reference; NULL: no
 * memory. */
json_t *microagent_session_describe(const struct microagent_session *session, struct error *err);
/* {"sessions":[...]}: of each the above without timings, with "state", "detail" of that (with its
 * "reason"?) and "observedAt", "grownBytes" of its disk (but not of a reflink that is in use), and
 * "shares" where it has directories, by name. One whose record is damaged is listed with "error",
 * and one that waits in a pool with "pooled":true. */
json_t *microagent_session_list(struct microagent *agent, struct error *err);
/* Finds what a crash or a reboot has left, and removes it or records it as what it is now:
 * {"removed":[{"name","why"}],"adopted":[{"name","why"}],"left"?:[{"name","why"}]}; names of
 * sessions, "pool/BASE", and in removed also the directories of bases in the making, and the parts
 * "SESSION/FILE" and "BASE/.warming" of what stays. left: what cannot be removed, and why not. What
 * a living process is making, and directories that are no sessions, are left alone. */
json_t *microagent_session_gc(struct microagent *agent, struct error *err);
/* Removes what is kept of sessions that were destroyed more than so many seconds ago:
 * {"removed":[{"name","why"}],"left"?:[{"name","why"}]}. The security log has a line of each. */
json_t *microagent_archive_remove_older(struct microagent *agent, int64_t seconds,
					struct error *err);

/* --- pools ----------------------------------------------------------------------------------- */

/* Start from {0}. */
struct microagent_pool_spec {
	const char *base; /* required; NAME is the newest version, and stays that one */
	int64_t size;	  /* sessions that are kept ready; at least 1 */
	struct microagent_machine machine; /* each of them; its network is nat or isolated */
};

/*
 * Keeps that many sessions of a base, of the handle's backend, booted and tried, for
 * microagent_session_create() to hand out. Returns at once: a process in the background makes them
 * one after the other, with processors and disks that nobody else wants, none within two seconds of
 * a claim and none that the host has no room for; what it has to say is in
 * <state>/pool/<base>/filler.log. Sessions beyond the size, and those of another kind than is asked
 * for now, are destroyed. ERR_INVALID for more than the host can ever have.
 */
int microagent_pool_set(struct microagent *agent, const struct microagent_pool_spec *spec,
			struct error *err);
/* {"pools":[{"base","backend","size","ready","filling","detail"?,"reason"?}]}, by base; filling: a
 * process is at work on it; detail: why fewer wait than should, unless they are on their way. */
json_t *microagent_pool_status(struct microagent *agent, struct error *err);
/* Keeps none any more: returns when the process in the background and every session that waited are
 * gone. Those that were claimed stay. word: a base, NAME for all its versions; NULL: all pools.
 * ERR_NOT_FOUND. */
int microagent_pool_drain(struct microagent *agent, const char *word, struct error *err);
/* What that process does, until the pool of the base NAME-vN is full; success at once where it is
 * being filled already. The calling process becomes idle and stays so. lock_fd: -1; or the pool's
 * lock, held already by who has started this process, and closed by this call. */
int microagent_pool_fill(struct microagent *agent, const char *word, int lock_fd,
			 struct error *err);

/* --- audit logs ------------------------------------------------------------------------------ */

/* Each session has one, from its making on; that of a destroyed session is kept in <state>/archive.
 */

/* Hands over the lines of a session's log (schema/audit-line.json) as they are, one after the
 * other: len bytes with their newline; the last may be cut short. -1 of fn ends the reading with
 * its error. ERR_NOT_FOUND. */
int microagent_audit_read(struct microagent *agent, const char *word,
			  int (*fn)(void *data, const char *line, size_t len, struct error *err),
			  void *data, struct error *err);
/* The same for telemetry.jsonl (schema/audit-telemetry.json), the guest's word, of a destroyed
 * session too. ERR_NOT_FOUND: there is no such session (then with the reason
 * REASON_NO_AUDIT_LOG), or its guest has told nothing. */
int microagent_audit_telemetry(struct microagent *agent, const char *word,
			       int (*fn)(void *data, const char *line, size_t len,
					 struct error *err),
			       void *data, struct error *err);
/* Whether the log is as it was written: {"ok","verdict":"open"|"closed"|"torn"|"broken","lines",
 * "badLine"?,"why"?,...,"telemetry":{"verdict":"none"|"whole"|"altered"|"missing",...}}
 * (schema/cli-audit-verify.json). ok: open or closed, and telemetry.jsonl is what the log has the
 * digests of. A bad log is an answer, not an error. */
json_t *microagent_audit_verify(struct microagent *agent, const char *word, struct error *err);
/* {"audits":[{"session","where":"session"|"archive","path","bytes"}]}, by session. */
json_t *microagent_audit_list(struct microagent *agent, struct error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
