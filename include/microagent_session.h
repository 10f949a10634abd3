/* SPDX-License-Identifier: MIT */
/*
 * Sessions of libmicroagent: for each task of an AI agent, a machine that is cloned from a base,
 * used, and destroyed.
 *
 * A base is a disk that was provisioned once, verified and sealed; nothing ever writes to a base
 * again. A session is a workspace in <state>/sessions whose disk is a copy-on-write clone of its
 * base. So what microagent.h says about workspaces (states, events, errors, which processes live)
 * is also true for sessions.
 *
 * Errors are as microagent.h describes them. Threads: a `struct microagent` is used by one thread
 * at a time; a `struct microagent_session` by any number of threads at once. Every function blocks
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

/* The names of bases. A base is named NAME-vN ("web-v3"). NAME alone stands for the newest version.
 * NAME is a letter or digit, then letters, digits, '.', '_' and '-', at most 32 characters in
 * all. */

/* Checks a word that names a base. ERR_INVALID if no base can have that name. */
int microagent_base_check_name(const char *word, struct error *err);

/* The kinds of lines that are reported while a base is provisioned. */
enum microagent_base_line {
	MICROAGENT_BASE_DOING,	/* a line that says what is done now, like "booting" */
	MICROAGENT_BASE_STEP,	/* a line that the script printed with "### " at its beginning; the
				 * reported line lacks these characters */
	MICROAGENT_BASE_OUTPUT, /* any other line of the script's stdout or stderr, or a part of a
				 * long line */
};

#define MICROAGENT_IPSW_LATEST "latest"

/* The parts and the machine of which a base is made. Zero and NULL are the defaults, so start from
 * {0}. Strings are borrowed for the call. */
struct microagent_base_spec {
	const char *image; /* the name of an image in the cache, or a path with a '/' to a raw ext4
			    * file; NULL: busybox */
	/* Instead of `image`: an image of the OCI or of Docker, as `microagent image import` takes
	 * it: a layout (a directory), an archive, or the reference of an image in a registry. The
	 * image is first imported into the cache. */
	const char *oci;
	/* Instead of `image` and `kernel`, for macOS on a Mac with Apple silicon, by the backend
	 * "apple-vf": the restore image from which macOS is installed. The value is a path, or an
	 * address at Apple (https://NAME.cdn-apple.com/...ipsw) from which the restore image is
	 * fetched, or MICROAGENT_IPSW_LATEST, for the newest restore image that this Mac can run
	 * according to Apple's catalog. The base keeps the restore image. `size_mib` is the size of
	 * the disk; 0: 64 GiB. The installed system is booted once before it is sealed, and
	 * `script` is run in it as root, by sh -e. `stage` and machine.accelerator cannot be used
	 * with `ipsw`. */
	const char *ipsw;
	/* Only with `ipsw`: a program that is run on this host as `PROGRAM DISK` before the
	 * installed system is booted, and puts the agent on the disk. NULL:
	 * microagent-put-macos-agent. */
	const char *put_agent;
	const char *kernel; /* the name of a kernel in the cache, or a path with a '/'; NULL: the
			     * default kernel */
	/* The machine on which the base is provisioned. Its architecture is the architecture of
	 * everything that is made from the base. Sessions of the base get its memory_mib and cpus
	 * by default. If memory_mib is 0, the machine has 256 MiB; if cpus is 0, one processor. For
	 * macOS, 0 means as much as macOS needs. */
	struct microagent_machine machine;

	/* If `oci`, `script`, `stage` or `size_mib` is set, the base is provisioned; else the base
	 * is the unchanged image. Provisioning boots a machine on the disk. The file system of the
	 * disk grows to the size of the disk. The user `agent` (uid 1000) is made if the image has
	 * no such user. The files of `stage` are copied to the machine, and the script is run as
	 * root. Then `agent` loses the right to write outside of /workspace, /tmp and the home of
	 * `agent`, and the machine is switched off. */
	const char *script;	  /* path of a script; a script without "#!" is run by sh -e; NULL:
				   * no script */
	const char *const *stage; /* paths of files that the script finds in $MICROAGENT_STAGE,
				   * NULL-terminated; NULL: no files */
	int64_t size_mib;	  /* size of the disk in MiB; 0: 1 GiB more than the image, or with
				   * `oci` than the contents of the image, but at most 4 GiB */
	int cancel; /* when this descriptor is readable, the work ends with ERR_UNAVAILABLE, and no
		     * base is made; 0: no descriptor */
	/* Is called when the machine is up. `accelerator` is "kvm" or "tcg". May be NULL. */
	void (*booted)(void *data, const char *accelerator);
	/* Is called for each line that is reported while the base is provisioned. `kind` says what
	 * the line is. `text` ends with a NUL and has no newline. The text may come from the guest,
	 * so do not print it on a terminal unchanged. May be NULL. */
	void (*said)(void *data, enum microagent_base_line kind, const char *text);
	/* Is called during a long step, which is the step that `said` reported last. `done` is the
	 * work that is done, and `total` is the whole work of the step, in any unit. `total` is 0
	 * if the whole work is not known. May be NULL. */
	void (*progressed)(void *data, uint64_t done, uint64_t total);
	void *data;
};

/* Makes the next version of the base that `word` names, and seals this version. *base is what
 * microagent_base_show() returns for the new version; a new reference. On failure no file of the
 * new version is left. If provisioning failed, the message names the log,
 * <state>/logs/base-NAME-TIME.log. */
int microagent_base_create(struct microagent *agent, const char *word,
			   const struct microagent_base_spec *spec, json_t **base,
			   struct error *err);
/* How a template is made. Zero and NULL are the defaults, so start from {0}. Strings are borrowed
 * for the call. */
struct microagent_warm_spec {
	/* Commands that are run in the machine before it is saved, one after the other, each as
	 * microagent_session_run() runs it. Each command is a list of words that ends with NULL.
	 * The list of commands ends with NULL too. A command that fails ends the whole call. NULL:
	 * no commands. */
	const char *const *const *run;
	struct microagent_machine machine; /* only accelerator may be set; everything else is as in
					    * the base */
	int cancel; /* when this descriptor is readable, the work ends with ERR_UNAVAILABLE, and no
		     * template is made; 0: no descriptor */
	/* `booted` and `said` are as in struct microagent_base_spec. */
	void (*booted)(void *data, const char *accelerator);
	void (*said)(void *data, enum microagent_base_line kind, const char *text);
	void *data;
};

/* Makes a template of a base: boots a machine of the base, runs the commands of `run` in it, and
 * saves its memory and devices. The result becomes a template only if a machine that is restored
 * from it runs commands. microagent_session_boot() restores sessions of the base from the template
 * instead of booting them, if they have the memory and processors of the template, and nothing
 * that only a boot can give to a machine, for example a bridge, published ports or rates. Each
 * session has an identity and randomness of its own. If QEMU, the kernel, the guest's agent or the
 * host has changed since the template was made, sessions are booted, and
 * microagent_session_describe() says why. A new template replaces the old one only when the new one
 * is complete. *base (may be NULL) is then what microagent_base_show() returns. ERR_CONFLICT if
 * another call makes or drops the template just now; ERR_UNSUPPORTED for macOS, or if the backend
 * saves no machines. On failure the message names the log, <state>/logs/base-NAME-TIME.log. */
int microagent_base_warm(struct microagent *agent, const char *word,
			 const struct microagent_warm_spec *spec, json_t **base, struct error *err);
/* Drops the template of a base. Running sessions are not touched. ERR_NOT_FOUND if the base has no
 * template. */
int microagent_base_cool(struct microagent *agent, const char *word, struct error *err);
/* Returns all bases, sorted by name and version: {"bases":[...]}, each as microagent_base_show()
 * returns it. A base whose metadata is damaged is listed with "name" and "error". */
json_t *microagent_base_list(struct microagent *agent, struct error *err);
/* Returns metadata.json of a base (schema/base.json) and "path", the directory of the base. If the
 * base has a template, "template" says when and with what the template was made, and how much disk
 * and memory it needs. */
json_t *microagent_base_show(struct microagent *agent, const char *word, struct error *err);
/* Hashes the files of a base and compares the digests with those that were recorded when the base
 * was sealed: {"ok","name","checks":[{"file","ok","error"?}]}. If digests differ, the call still
 * succeeds, and "ok" is false. */
json_t *microagent_base_verify(struct microagent *agent, const char *word, struct error *err);
/* Deletes a base. Fails with ERR_CONFLICT if a session was made from the base; the message names
 * the session. */
int microagent_base_delete(struct microagent *agent, const char *word, struct error *err);

/* --- sessions -------------------------------------------------------------------------------- */

/* The properties of a new session. Zero and NULL are the defaults, so start from {0}. Strings are
 * borrowed for the call. */
struct microagent_session_spec {
	const char *base; /* required */
	struct microagent_machine machine;
	const char *share;    /* the directory that the session is given at its start, as `dir` of
			       * microagent_session_share_workspace(); NULL: no directory */
	const char *share_at; /* the path of `share` in the guest; NULL: /workspace, in macOS
			       * /Users/Shared/workspace */
	bool share_read_only;
	/* Options of `share`, with the meaning of `cache` and `timeout_seconds` in struct
	 * microagent_session_share. */
	const char *share_cache;
	int64_t share_timeout_seconds;
	bool no_share; /* The session cannot be given a directory, now or later. Its machine has no
		        * spare port, and boots faster. */
	bool cold; /* the session is booted even if it could be restored (microagent_base_warm()),
		    * and is not taken from a pool */
	int64_t disk_quota_mib; /* the quota in MiB, as for microagent_session_set_quota(); 0: the
				 * size of the base's disk, but at most 16 GiB */
	/* The times after which the session is destroyed automatically. `lifetime_seconds` counts
	 * from the making of the session, whether the session runs or not. `idle_seconds` counts
	 * from the last moment at which a command ran in the session or a program had a connection
	 * to it. 0: no limit. A session that is in quarantine at that time stays. */
	int64_t lifetime_seconds, idle_seconds;
	/* The session is also destroyed when its handle is closed, or when this process ends in any
	 * way. This member applies to microagent_session_create(), _clone_base() and _fork(). The
	 * session stays owned after microagent_session_restore(). A session that is not owned ends
	 * with this process only while the session is being made. If this process ends while the
	 * session has no machine yet, a directory is left, which is removed before the next session
	 * is made. A child that this process forks does not keep the session alive. */
	bool owned;
	int cancel; /* when this descriptor is readable, the call ends with ERR_UNAVAILABLE and
		     * leaves nothing; 0: no descriptor */
};

struct microagent_session;

/* Checks a word that names a session. ERR_INVALID if no session can have that name. The name of a
 * session with ".bundle" behind it is valid too. */
int microagent_session_check_name(const char *word, struct error *err);
/* Checks a word that names an audit log. ERR_INVALID if no audit log can have that name. The word
 * is valid if it names a session, or a machine of microagent-oci ("sandbox-..."). The state
 * directory of such machines is .machines below the root of microagent-oci. */
int microagent_audit_check_name(const char *word, struct error *err);
/* Clones the disk of a new session and prepares its workspace; nothing runs yet. An owned session
 * counts as unfinished until it is booted, and no other process can open it. If its handle is
 * closed or this process ends before the session is booted, the session is removed when the next
 * session is made, or by microagent_session_gc(). */
int microagent_session_clone_base(struct microagent *agent,
				  const struct microagent_session_spec *spec,
				  struct microagent_session **out, struct error *err);
/* Boots a session. The new machine is given the same directories as an earlier machine of the
 * session was given while it ran. Returns when the first command would succeed. After a failure the
 * session still exists, until microagent_session_destroy() is called. If the machine cannot be
 * given the directories, the machine is ended, unless it is in quarantine. */
int microagent_session_boot(struct microagent_session *session, struct error *err);
/* Checks whether the directories that the next machine of the session will be given may be shared.
 * If not, the error says which directory breaks which rule. Starts nothing. */
int microagent_session_check_shares(const struct microagent_session *session, struct error *err);
/* Does only the last part of microagent_session_boot(), for a session that microagent_start()
 * started: gives the machine the same directories as an earlier machine of the session was given
 * while it ran. On failure the machine goes on without these directories, and the audit log gets a
 * line share.missing for each. Files that the guest then writes at the paths of these directories
 * are lost with the machine. */
int microagent_session_share_again(struct microagent_session *session, struct error *err);
/* Clones and boots a session, or claims a session of a pool. A session is claimed if the base has a
 * pool (microagent_pool_set()) whose sessions have what `spec` asks for. The claimed session is
 * then given the share. On failure nothing of the session is left. If the caller is killed during
 * the call, the unfinished session is removed when the next session is made, or by
 * microagent_session_gc(). */
int microagent_session_create(struct microagent *agent, const struct microagent_session_spec *spec,
			      struct microagent_session **out, struct error *err);
/* Opens a session that exists, no matter which process made it. ERR_NOT_FOUND if there is no
 * session of that name; ERR_CONFLICT if the session is still being made, or was never completed. */
int microagent_session_open(struct microagent *agent, const char *word,
			    struct microagent_session **out, struct error *err);
/* Opens a session as microagent_session_open() does, and also opens a session that another process
 * is still making, if the machine of this session runs. For a session that is still being made,
 * call only microagent_status(), microagent_quarantine(), microagent_halt(), microagent_stop() and
 * microagent_kill(). When the machine is ended or quarantined, the process that makes the session
 * fails. That process keeps a session in quarantine, and removes a session whose machine was
 * ended. */
int microagent_session_open_living(struct microagent *agent, const char *word,
				   struct microagent_session **out, struct error *err);
/* --- commands in a session ------------------------------------------------------------------- */

/*
 * Runs a command as microagent_guest_run() does, with the same limits, results and errors. The
 * first call connects to the guest. All later calls, from any number of threads, share that
 * connection. Requests are sent in the order in which the calls are made. Each answer comes when
 * its command ends, and has the number of its request.
 */
int microagent_session_run(struct microagent_session *session, const struct microagent_exec *exec,
			   const struct microagent_run_limits *limits,
			   struct microagent_result *out, struct error *err);
/* Runs a line of the shell: `sh -c line` in the guest. `exec` has the other options (env, cwd,
 * user, timeout_seconds). Its command is ignored, and `exec` may be NULL. */
int microagent_session_run_shell(struct microagent_session *session, const char *line,
				 const struct microagent_exec *exec,
				 const struct microagent_run_limits *limits,
				 struct microagent_result *out, struct error *err);

/* How the output of a command is divided when it is passed to the caller. */
enum microagent_pieces {
	/* Whole lines with their newline. The last line of a stream may have no newline. A line of
	 * more than MICROAGENT_LINE_MAX bytes comes in several parts. */
	MICROAGENT_LINES,
	MICROAGENT_CHUNKS /* any number of bytes at a time, as the bytes arrive */
};
#define MICROAGENT_LINE_MAX 65536

/* Run a command as microagent_guest_stream() does, on a connection that no other command uses. So a
 * slow callback delays only its own command. */
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
/* Returns the guest handle of a booted session, for files and the other functions of microagent.h.
 * The handle belongs to the session, and the caller must not close it. */
struct microagent_guest *microagent_session_guest(struct microagent_session *session,
						  struct error *err);

/* --- the directories of a session ------------------------------------------------------------ */

/*
 * Gives a running session a directory of this host, mounted at the path `at` (NULL: /workspace)
 * with nosuid and nodev. A session can be given directories only once, all together. A session
 * without a spare port (no_share) cannot be given any directory. Later machines of the session are
 * given the same directories again (microagent_session_boot(), microagent_session_share_again() and
 * microagent_session_restore()).
 *
 * In the directory the guest's uid and gid 1000 stand for the ids of the caller, so files that the
 * guest's user `agent` writes belong to the caller. No other user of the host has an id in the
 * directory. A base may name a "user" (microagent_base_show()), which then runs commands by
 * default. This user can write to the directory only if its uid is 1000; a command with
 * microagent_exec.user "1000" always can. microagent-request(5) says which directories are refused.
 *
 * *share (may be NULL) is {"path","mountpoint","mode"}, a new reference. ERR_CONFLICT if the
 * session is not running, is quarantined, or already has a directory. ERR_UNAVAILABLE names a
 * package that is missing. After an error the session goes on without the directory. There is one
 * exception: if the error says that the directory could not be recorded for later machines, the
 * present machine has the directory.
 */
int microagent_session_share_workspace(struct microagent_session *session, const char *dir,
				       const char *at, bool read_only, json_t **share,
				       struct error *err);

/* A directory of the host for a session. Start from {0}. */
struct microagent_session_share {
	const char *dir; /* required */
	const char *at;	 /* the path in the guest, as for microagent_session_share_workspace() */
	bool read_only;
	/* A directory that holds keys, or the home directory, may be shared too. The guest can then
	 * read everything in the directory, and the audit log of the session gets a warning. */
	bool anyway;
	/* How the guest caches the directory: "auto", "always" (the guest does not see changes that
	 * this host makes) or "none"; NULL: "auto". */
	const char *cache;
	/* For how many seconds the guest keeps names and attributes, from 1 to 86400. 0: the
	 * default for the value of `cache`, which is one second for "auto". */
	int64_t timeout_seconds;
};
/* Gives a session one directory as microagent_session_share_workspace() does, with all options.
 * *told (may be NULL) is an object like *share of microagent_session_share_workspace(), and also
 * has "anyway", "cache" and "timeoutSeconds" if they were given. ERR_UNSUPPORTED if the backend
 * cannot cache as `cache` and `timeout_seconds` say. */
int microagent_session_give_share(struct microagent_session *session,
				  const struct microagent_session_share *share, json_t **told,
				  struct error *err);
/* Gives a session all directories that the spec names, up to 8: first spec->share with its options,
 * then the shares of spec->machine, then what share_git of spec->machine adds. `share_anyway` of
 * spec->machine applies too. If one of the directories cannot be given, the session is given none
 * of them. *told (may be NULL) is an array with one object for each directory, in this order. */
int microagent_session_give_shares(struct microagent_session *session,
				   const struct microagent_session_spec *spec, json_t **told,
				   struct error *err);

/* Changes the network of a session as microagent_change_network() does. */
int microagent_session_change_network(struct microagent_session *session,
				      enum microagent_network_change change, const char *word,
				      json_t **network, struct error *err);

/* --- the disk of a session ------------------------------------------------------------------- */

/*
 * Sets the quota of a session: its disk may use up to `mib` MiB of the host's disk. The base from
 * which the disk is cloned does not count. A session that reaches its quota is paused with its
 * commands. An event says so, the audit log has a CRITICAL line, and requests to the session fail
 * with ERR_UNAVAILABLE. The session goes on only when its quota is raised; a paused session can be
 * destroyed. While the session runs, its quota can only be raised. The quota can never be less than
 * the growth of the disk. *disk (may be NULL) is {"quotaBytes","grownBytes"}, a new reference.
 * ERR_INVALID if no quota can have this size. ERR_CONFLICT if the quota is too small for this
 * session, or if the session is neither running nor at rest.
 */
int microagent_session_set_quota(struct microagent_session *session, int64_t mib, json_t **disk,
				 struct error *err);

/* --- forks and snapshots --------------------------------------------------------------------- */

/*
 * Only a machine that was restored (from a template, a fork or a snapshot) can be saved with the
 * processes that run in it. While the machine is saved, its commands stand still; "pauseMs" is the
 * length of this pause in milliseconds. A call fails with ERR_CONFLICT if the machine was booted,
 * does not run, is paused, quarantined or being saved, or has a directory of the host. A new
 * machine that goes on from the saved machine has a new identity (name, host name, the host keys of
 * its sshd, the randomness of its kernel), no connections and no share. But its processes have the
 * memory of the saved machine, also keys and the state of a random number generator (OpenSSL,
 * Python's random). The processes begin to run a moment before the kernel has its new randomness. A
 * command can change keys and generators in each new machine: see on_fork.
 */

/* The settings with which a session is forked. Start from {0}. */
struct microagent_fork_spec {
	int64_t count; /* number of forks, 1 to 100 */
	int cancel;    /* when this descriptor is readable, the call ends with ERR_UNAVAILABLE; 0:
		        * no descriptor */
	bool owned;    /* as in struct microagent_session_spec: each fork ends with its handle */
	/* A command that is run in each fork, as by microagent_session_run(), before the caller
	 * gets the fork. If the command exits with another code than 0, or does not end within its
	 * timeout_seconds (0: 60; at most 600), the whole call fails. NULL: no command. */
	const struct microagent_exec *on_fork;
};
/*
 * Makes spec->count forks: new sessions that go on from the state that this session has now. Each
 * fork has a copy of this session's disk, this session's settings and quota, and a new lifetime.
 * The forks do not end with this session. Either all forks are made or none. The call fails if a
 * fork would have to be booted, or if a fork was ended or quarantined before the call has returned.
 * A fork in quarantine stays, and the error names it. `children` has room for spec->count handles,
 * which the caller closes. *told (may be NULL): {"pauseMs","stateBytes","diskBytes"}, a new
 * reference.
 */
int microagent_session_fork(struct microagent_session *session,
			    const struct microagent_fork_spec *spec,
			    struct microagent_session **children, json_t **told, struct error *err);
/* Checks a word that names a snapshot. ERR_INVALID if no snapshot can have that name. */
int microagent_snapshot_check_name(const char *word, struct error *err);
/*
 * Keeps the memory and the disk that a session has now as a snapshot under a name. The snapshot
 * stays until it is deleted or the session is destroyed. The disks of a session's snapshots count
 * against its quota. *told (may be NULL): {"name","createdAt","stateBytes","diskBytes","pauseMs"},
 * a new reference. ERR_CONFLICT also if the session has a snapshot of that name already.
 */
int microagent_session_snapshot(struct microagent_session *session, const char *name, json_t **told,
				struct error *err);
/*
 * Restores a session to a snapshot: ends the session's machine, if one runs, drops the changes of
 * the disk since the snapshot, and goes on from the snapshot. The session is given its directories
 * again.
 *
 * *told (may be NULL): {"name","createdAt","stateBytes","diskBytes","boot":{"how","why"?},
 * "unshared"?}, a new reference. If the saved memory no longer fits this host (because of another
 * QEMU or kernel), the machine is booted from the snapshot's disk: "how" is then "cold", and "why"
 * gives the reason. If the directories could not be given to the machine, the machine goes on
 * without them, and "unshared" says why. ERR_NOT_FOUND if there is no such snapshot. ERR_CONFLICT
 * if the session is quarantined, or the snapshot is damaged. The call can also fail as
 * microagent_session_check_shares() does. After these errors nothing has changed.
 */
int microagent_session_restore(struct microagent_session *session, const char *name, json_t **told,
			       struct error *err);
/* Returns the snapshots of a session, sorted by name: {"snapshots":[...]}, a new reference. Each
 * snapshot is {"name","createdAt","stateBytes","diskBytes","pauseMs"}; a damaged snapshot is
 * {"name","error"}. */
json_t *microagent_session_snapshots(struct microagent_session *session, struct error *err);
/* Deletes a snapshot. ERR_NOT_FOUND if there is no such snapshot; ERR_CONFLICT if the session is
 * being restored to this snapshot just now. */
int microagent_session_snapshot_delete(struct microagent_session *session, const char *name,
				       struct error *err);

/* Ends the session's machine, removes all files of the session, and verifies that everything is
 * gone. The handle stays until microagent_session_close(). Succeeds if the session is gone already.
 * If this process is killed during the call, the work is continued when the next session is made,
 * by microagent_session_gc(), or by another call of this function for this session. ERR_CONFLICT if
 * another process destroys the session just now, or has just claimed it from its pool. A session in
 * quarantine stays as it is, and the call fails with ERR_CONFLICT (REASON_SESSION_QUARANTINED). */
int microagent_session_destroy(struct microagent_session *session, struct error *err);
/* Destroys a session by its name. Also destroys the files that a killed call has left of a session,
 * and a session in quarantine: a caller that names a session wants it gone. ERR_NOT_FOUND if there
 * is no session of that name; ERR_CONFLICT if another process destroys the session just now, or if
 * the directory of that name is not a session. */
int microagent_session_destroy_named(struct microagent *agent, const char *word, struct error *err);
/* Frees the handle. An owned session is destroyed; any other session goes on. Accepts NULL. No
 * other call may be using the handle. */
void microagent_session_close(struct microagent_session *session);

/* Returns the name of the session, like "session-2026-05-10T14-22-00Z-a7f3". The text is valid as
 * long as the handle. */
const char *microagent_session_name(const struct microagent_session *session);
/* Returns a description of a session (schema/session.json), a new reference; NULL: no memory.
 * {"name","path","base","accelerator"?,"source":"new"|"pool"|"fork","parent"?,
 * "clone":"reflink"|"overlay"|"copy","createdAt","quotaBytes","template"?,"cold"?,
 * "boot"?:{"how":"restored"|"cold","why"?},"lifetimeSeconds"?,"endsAt"?,"idleSeconds"?,
 * "shares"?:[{"path","mountpoint","mode"}],"timings":{"cloneMs"?,"bootMs"?,"claimMs"?}} "template"
 * is the digest of the record of the base's template for which the session was made. "cold" says
 * why the base's template was not used. "boot" says whether the machine was restored when it was
 * started. "timings" has, in milliseconds, how long the work of this handle took. "cloneMs" is the
 * time to make the directory, its disk and its record. "bootMs" is the time from the start of the
 * machine until its first command would succeed. "claimMs" is the time to claim the session from a
 * pool. The workspace is prepared between cloning and booting; the time for this is in neither
 * "cloneMs" nor "bootMs". */
json_t *microagent_session_describe(const struct microagent_session *session, struct error *err);
/* Returns all sessions, sorted by name: {"sessions":[...]}, each as microagent_session_describe()
 * returns it but without timings. Each also has "state" with its "detail" (and "reason"?),
 * "observedAt", "grownBytes" of its disk (but not if the disk is a reflink that is in use), and
 * "shares" if it has directories. A session whose record is damaged is listed with "error". A
 * session that waits in a pool is listed with "pooled":true. */
json_t *microagent_session_list(struct microagent *agent, struct error *err);
/* Finds everything that a crash or a reboot has left. Each thing is removed ("removed"), or its
 * state is recorded anew ("adopted"), or it cannot be removed and "why" gives the reason ("left").
 * Returns {"removed":[{"name","why"}],"adopted":[{"name","why"}],"left"?:[{"name","why"}]}. A name
 * is the name of a session, or "pool/BASE". In "removed" a name may also be the directory of a base
 * that was in the making, or a part of a session or base that stays: "SESSION/FILE",
 * "BASE/.warming". A session or base that a living process is making, and a directory that is not a
 * session, are not touched. */
json_t *microagent_session_gc(struct microagent *agent, struct error *err);
/* Removes the archives of sessions that were destroyed more than `seconds` seconds ago:
 * {"removed":[{"name","why"}],"left"?:[{"name","why"}]}. "left" has the archives that could not be
 * removed. The security log gets a line for each archive. */
json_t *microagent_archive_remove_older(struct microagent *agent, int64_t seconds,
					struct error *err);

/* --- pools ----------------------------------------------------------------------------------- */

/* The number and the properties of the sessions that a pool keeps. Start from {0}. */
struct microagent_pool_spec {
	const char *base; /* the name of the base, required; NAME stands for the newest version at
			   * the time of the call */
	int64_t size;	  /* the number of sessions that are kept ready; at least 1 */
	struct microagent_machine machine; /* the machine of each session; its network is nat or
					    * isolated */
};

/*
 * Keeps spec->size sessions of a base ready, booted and tested, with the backend of the handle.
 * microagent_session_create() claims these sessions. Returns at once: a background process makes
 * the sessions one after the other, and uses processors and disks only while no other program needs
 * them. This process makes no session within two seconds after a claim, and no session for which
 * the host has no room. Its log is <state>/pool/<base>/filler.log. Sessions beyond the size, and
 * sessions that differ from this spec, are destroyed. ERR_INVALID if the size is more than this
 * host can ever have.
 */
int microagent_pool_set(struct microagent *agent, const struct microagent_pool_spec *spec,
			struct error *err);
/* Returns all pools, sorted by base:
 * {"pools":[{"base","backend","size","ready","filling","detail"?,"reason"?}]}. "filling" says
 * whether a process is making sessions for the pool. "detail" says why fewer than `size` sessions
 * are ready, if no process is making them. */
json_t *microagent_pool_status(struct microagent *agent, struct error *err);
/* Removes a pool. Returns when the background process and all sessions that wait in the pool are
 * gone. Claimed sessions stay. `word` is a base, NAME for all versions of a base, or NULL for all
 * pools. ERR_NOT_FOUND if there is no such pool. */
int microagent_pool_drain(struct microagent *agent, const char *word, struct error *err);
/* Does the work of the background process: fills the pool of the base NAME-vN. Returns when the
 * pool is full, or at once, with success, if another process is filling it already. The calling
 * process gets the idle scheduling class and keeps it. `lock_fd` is -1, or a descriptor that
 * already holds the lock of the pool, and that the calling process has inherited. This call closes
 * `lock_fd`. */
int microagent_pool_fill(struct microagent *agent, const char *word, int lock_fd,
			 struct error *err);

/* --- audit logs ------------------------------------------------------------------------------ */

/* Each session has an audit log from the moment at which the session is made. The audit log of a
 * destroyed session is kept in <state>/archive. */

/* Passes the lines of a session's audit log (schema/audit-line.json) to `fn` unchanged, one after
 * the other. A line has `len` bytes, with its newline; the last line may be incomplete. If `fn`
 * returns -1, the reading ends with the error of `fn`. ERR_NOT_FOUND if there is no audit log of
 * that session. */
int microagent_audit_read(struct microagent *agent, const char *word,
			  int (*fn)(void *data, const char *line, size_t len, struct error *err),
			  void *data, struct error *err);
/* Passes the lines of a session's telemetry.jsonl (schema/audit-telemetry.json) to `fn` as
 * microagent_audit_read() does. The session may be destroyed. The guest has written these lines, so
 * they are not trusted. ERR_NOT_FOUND with the reason REASON_NO_AUDIT_LOG if there is no such
 * session; ERR_NOT_FOUND without this reason if the guest of the session has sent no telemetry. */
int microagent_audit_telemetry(struct microagent *agent, const char *word,
			       int (*fn)(void *data, const char *line, size_t len,
					 struct error *err),
			       void *data, struct error *err);
/* Checks whether an audit log was changed after it was written:
 * {"ok","verdict":"open"|"closed"|"torn"|"broken",
 * "lines","badLine"?,"why"?,...,"telemetry":{"verdict":"none"|"whole"|"altered"|"missing",...}}
 * (schema/cli-audit-verify.json). "ok" is true if the verdict is "open" or "closed", and
 * telemetry.jsonl matches its digests in the log. If the log is bad, the call still succeeds, and
 * "ok" is false. */
json_t *microagent_audit_verify(struct microagent *agent, const char *word, struct error *err);
/* Returns all audit logs, sorted by session:
 * {"audits":[{"session","where":"session"|"archive","path","bytes"}]}. */
json_t *microagent_audit_list(struct microagent *agent, struct error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
