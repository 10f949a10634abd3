/* SPDX-License-Identifier: MIT */
/*
 * libmicroagent: a virtual machine of its own for every task of an agent.
 *
 * A workspace is a named machine: a disk cloned from an image, a kernel, memory and processors, and
 * perhaps a command. Everything known about it is in files below a state directory; the library
 * keeps nothing else, so a handle may be opened and closed at any time, and other programs may use
 * the same state directory at the same time.
 *
 * Errors. A function that can fail ends in `struct error *err` (<microagent/error.h>; NULL is
 * allowed), and returns 0 or a value on success, -1 or NULL on failure. Outputs are
 * untouched on failure. The code is stable, and so is the reason, which says more exactly what
 * it is and, by the subject, of what. The message is for people. It names facts: what to do about
 * them is known to the program that calls. The codes:
 *   ERR_INVALID      an argument is wrong (a name, an option, an image that is none)
 *   ERR_NOT_FOUND    the workspace, kernel, image or program does not exist
 *   ERR_CONFLICT     not allowed in the workspace's present state
 *   ERR_UNSUPPORTED  this host cannot do it at all
 *   ERR_UNAVAILABLE, ERR_TIMEOUT  trying again may help
 *   ERR_DENIED       rights are missing
 *   ERR_IO           the system, the machine or its guest failed
 *   ERR_INTERNAL     a bug of ours
 * Nothing is ever printed, logged or asked, and no function exits.
 *
 * Threads. A `struct microagent` may be used by one thread at a time, a `struct microagent_guest`
 * and a `struct microagent_cancel` by any number of threads at once; different handles are
 * independent. Every function blocks until its work is done; microagent_on_wait() says how to hear
 * of time passing. The library starts child processes and reaps those alone. It changes no signal's
 * disposition, but SIGPIPE must be ignored while microagent_run() or microagent_exec() is at work.
 *
 * JSON. Documents are jansson values; what the caller gets is a new reference. The response of a
 * workspace function is the supervisor protocol's (schema/), always with "ok": true: a response
 * with "ok": false arrives as an error.
 */
#ifndef MICROAGENT_H
#define MICROAGENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "microagent/error.h"
#include "microagent/exec.h"

#ifdef __cplusplus
extern "C" {
#endif
/* The library's own symbols are hidden but for what is declared here. */
#pragma GCC visibility push(default)

/* "0.1.0" */
const char *microagent_version(void);
/* "invalid", "not-found", ... as in JSON. */
const char *microagent_error_name(enum error_code code);
/* "no-workspace", "session-down", ... as in JSON; "none" for REASON_NONE. */
const char *microagent_reason_name(enum error_reason reason);

struct microagent;

/* state_dir NULL: $MICROAGENT_STATE_DIR, else ~/.microagent. It is made when the first workspace
 * is; nothing is touched here. */
struct microagent *microagent_open(const char *state_dir, struct error *err);
void microagent_close(struct microagent *agent); /* accepts NULL */
/* The state directory, absolute. */
const char *microagent_state_dir(const struct microagent *agent);

/* fn is called about five times a second, by the calling thread, while a function waits for a
 * machine (a boot, a power-off); never while bytes are being streamed. NULL: not at all. */
void microagent_on_wait(struct microagent *agent, void (*fn)(void *data), void *data);

/* --- workspaces ------------------------------------------------------------------------------ */

/* A letter or digit, then letters, digits, '.', '_' and '-', at most 63 in all, and none of the
 * names that a state directory keeps for itself. ERR_INVALID says what is wrong. */
int microagent_check_name(const char *name, struct error *err);

/* Whether word is "KEY=VALUE" with a name that a variable can have; ERR_INVALID says what is wrong.
 */
int microagent_check_env(const char *word, struct error *err);

/* Whether word is "[HOST:]HOSTPORT:GUESTPORT[/tcp]", or "PORT=HOST:PORT"; ERR_INVALID. Whether such
 * a port can be had is another matter. */
int microagent_check_publish(const char *word, struct error *err);
int microagent_check_listener(const char *word, struct error *err);

/* Whether word is "NAME=PATH:/MOUNTPOINT:ro|rw", a raw disk image with an ext4 file system, or
 * "DIR[:/PLACE[:OPTION,...]]", a directory of the host, on /workspace where no place is named;
 * ERR_INVALID. The files are not looked at. */
int microagent_check_disk(const char *word, struct error *err);
int microagent_check_share(const char *word, struct error *err);
/* The directory that git in the guest lacks, where what the word shares is a git worktree, and
 * share_git does not share that too; malloc'd. NULL: none. With `at` the word is a directory alone,
 * which is shared there. */
char *microagent_git_outside(const char *word, const char *at);

/* Whether word is "NAME=ARCHIVE:/MOUNTPOINT", a tar archive, or "NAME=/PATH" of a file or directory
 * that the guest will write; ERR_INVALID. */
int microagent_check_bundle(const char *word, struct error *err);
int microagent_check_output(const char *word, struct error *err);

/* What a machine may do in a second, at most 10^12 each; 0: what it can. */
struct microagent_rates {
	int64_t disk_bytes, disk_ops; /* of all its writable disks together */
	int64_t net_bytes;	      /* each way; of "nat" alone */
};

/* What of the internet nat may reach, by name; anything in it at all, and nothing else is open but
 * microagent_machine.allow. */
struct microagent_egress {
	/* As microagent_check_egress() has them, NULL-terminated; NULL: not asked for. A list of
	 * none is asked for, and opens nothing. */
	const char *const *names;
	/* As with names: lists of such words: "npm", "pypi", "debian" or "github", which the
	 * library has, or a path with a '/' to a file with one on each line ('#': a comment). */
	const char *const *from;
	bool sni_off; /* connections are judged by their addresses alone */
	bool dry_run; /* nothing is refused by this, but told */
};

/* Whether word is "NAME[:PORT[,PORT...]]", a host like "pypi.org" or all below one like
 * "*.debian.org" with the ports 443 and 80 or those that are given, or an IPv4 prefix
 * "A.B.C.D/N"; ERR_INVALID says what is wrong. */
int microagent_check_egress(const char *word, struct error *err);
/* Whether word can be one of microagent_egress.from; a file is not looked at. */
int microagent_check_egress_list(const char *word, struct error *err);

/*
 * A machine: its hardware, its network, its ways to the host, and how fast they may be. Whatever
 * makes machines has one as `machine`. Zero and NULL are the defaults, and lists end with NULL.
 * ERR_INVALID, naming the field, where one is set that the kind does not have: only workspaces have
 * architecture and disks, but for the architecture of a base; of a base there are also accelerator,
 * network, network_interface, allow, egress, memory_mib and cpus, of a template accelerator, of a
 * pool network, memory_mib and cpus.
 */
struct microagent_machine {
	/* "amd64" or "arm64"; NULL: the host's. Kernel and image are to be of it; another one than
	 * the host's is emulated. A session has its base's. */
	const char *architecture;
	const char *accelerator;	 /* "auto" (NULL), "kvm" or "tcg" */
	int64_t memory_mib;		 /* MiB; 0: 512, of a session the base's */
	int64_t cpus;			 /* 0: 2, of a session the base's */
	const char *network;		 /* "nat" (NULL), "isolated" or "bridged" */
	const char *network_interface;	 /* the bridge of "bridged" */
	const char *const *allow;	 /* IPv4 prefixes that nat opens */
	struct microagent_egress egress; /* of nat alone */
	/* TCP ports of the guest that the host listens for: words as microagent_check_publish() has
	 * them. HOST is an address of this host, 127.0.0.1 by default. */
	const char *const *publish;
	/* Ports of the host that the guest may connect to by vsock, as microagent_check_listener()
	 * has them: the mediation channel, and further ones. */
	const char *mediation;
	bool mediation_optional; /* the machine may do without it */
	const char *const *vsock;
	/* Further disks and shared directories, as microagent_check_disk() and _share() have them.
	 * More than 8 directories only a session can have that is booted for them. */
	const char *const *disks, *const *shares;
	bool share_anyway; /* directories: also a store of keys, or the home directory */
	/* Directories that are git worktrees: also the directory that all worktrees of the
	 * repository have in common, with its hooks and configuration, at the path to which .git
	 * leads in the guest. ERR_INVALID for a .git that is not as `git worktree add` makes it,
	 * that leads to no repository which leads back, or to one that holds another share or lies
	 * in one. */
	bool share_git;
	struct microagent_rates rates;
};

/* What a workspace is made of. Zero and NULL are the defaults, so start from {0}. Strings are
 * borrowed for the call. */
struct microagent_spec {
	struct microagent_machine machine;
	const char *image;	    /* name in the cache, or a path with a '/' to a raw ext4 file */
	const char *kernel;	    /* the same for a kernel */
	const char *initrd;	    /* path; NULL: the one beside the kernel */
	bool no_disk;		    /* no image: the root is what initrd holds, in memory, and lost
				 * at the end of each run */
	const char *const *env;	    /* "KEY=VALUE" of the command, NULL-terminated; the image's
				 * own variables are there too */
	const char *user;	    /* of the command; NULL: the image's, else uid 1000 */
	const char *const *command; /* argv, NULL-terminated; NULL: the image's entrypoint with its
				     * arguments, and without one no workload */
	int64_t timeout_seconds;    /* of the command; 0: none */
	/* Archives that the guest has unpacked and read-only, and what microagent_artifact_get()
	 * may fetch, as microagent_check_bundle() and _output() have them, NULL-terminated; NULL:
	 * none. */
	const char *const *bundles, *const *outputs;
	const char *console; /* "shell": one of root's on the serial console; NULL: none */
};

/* What this handle makes from now on is made by that backend: "qemu", which is the default (on a
 * Mac "apple-vf"), or another one of microagent_contract(). What is there keeps the backend that it
 * has. ERR_INVALID: the contract has no such name. */
int microagent_use_backend(struct microagent *agent, const char *name, struct error *err);
int microagent_check_backend(const char *name, struct error *err);

/* The VMMs of machines that are made or started by this handle from now on run in no cell, under
 * their seccomp filter alone: for a host where none can be had, on which all else is refused with
 * ERR_UNAVAILABLE. What makes a workspace records it, and it holds for every later start. */
void microagent_unconfined(struct microagent *agent);

/* Clones the image and prepares the workspace; nothing runs yet. ERR_CONFLICT when there is one of
 * that name. On failure nothing is left behind. */
int microagent_create(struct microagent *agent, const char *name,
		      const struct microagent_spec *spec, json_t **response, struct error *err);
/* Records kernel, guest init and disk of a workspace at rest as they are now, with the config it
 * has: what differs from an earlier record is accepted. */
int microagent_prepare(struct microagent *agent, const char *name, json_t **response,
		       struct error *err);
/* Boots it; answers when the guest is ready for microagent_exec(). A recorded command then runs. */
int microagent_start(struct microagent *agent, const char *name, json_t **response,
		     struct error *err);
/* The state, readiness, verification and result. ERR_NOT_FOUND for an absent workspace. */
int microagent_status(struct microagent *agent, const char *name, json_t **response,
		      struct error *err);
/* The same with a digest of the root file system that is taken now, which may take a while. */
int microagent_verify(struct microagent *agent, const char *name, json_t **response,
		      struct error *err);
/* Ends the command, unmounts, powers off; after the halt deadline it is killed. */
int microagent_stop(struct microagent *agent, const char *name, json_t **response,
		    struct error *err);
/* As microagent_stop(), but recorded as `halted`. */
int microagent_halt(struct microagent *agent, const char *name, json_t **response,
		    struct error *err);
/* Cuts every channel of a running machine, which goes on; proven, or the machine is killed and this
 * fails. Without a machine the state is only recorded. */
int microagent_quarantine(struct microagent *agent, const char *name, json_t **response,
			  struct error *err);
/* Ends the machine at once. */
int microagent_kill(struct microagent *agent, const char *name, json_t **response,
		    struct error *err);
/* Sets how much of its memory a running guest may have, in MiB; what it gives up the host has
 * again.
 * {"ok","balloon":{"memoryMiB","actualMiB"}}: what it was booted with, and what it has when this
 * returns, which may be more: a guest gives what it can spare. ERR_INVALID out of range,
 * ERR_CONFLICT when it is not running. */
int microagent_balloon(struct microagent *agent, const char *name, int64_t mib, json_t **response,
		       struct error *err);
/* Removes a workspace in which nothing lives, with its disk. An absent one is success. */
int microagent_delete(struct microagent *agent, const char *name, json_t **response,
		      struct error *err);
/* {"workspaces":[{"name","state","observedAt","detail"?,"memoryMiB","cpuCount","command"?}]},
 * sorted by name. One whose files are damaged has state "unknown", "error" and perhaps "reason". */
json_t *microagent_list(struct microagent *agent, struct error *err);
/* {"workspace","state","backend","network":{"mode","allow","portForwards"}} as prepared; while it
 * runs also "runtime":{"mode","ip","subnet","gateway","dns","routes"}, as far as the host knows
 * them, and "detail" where something is to be known about it. ERR_NOT_FOUND for an absent
 * workspace. */
json_t *microagent_network(struct microagent *agent, const char *name, struct error *err);
enum microagent_network_change {
	MICROAGENT_NETWORK_ALLOW,    /* a word as microagent_check_egress() has it */
	MICROAGENT_NETWORK_DENY,     /* the same: without ports, any of that name */
	MICROAGENT_NETWORK_PUBLISH,  /* a word as microagent_check_publish() has it */
	MICROAGENT_NETWORK_UNPUBLISH /* "[HOST:]HOSTPORT" */
};
/* Changes the network of a running workspace, and what is recorded of it for its next start.
 * Connections over what was opened end with it. *network (may be NULL) is what it is then:
 * {"mode","allow"?,"egress"?,"portForwards"?}, a new reference. ERR_INVALID for a word that is none
 * and for what its config could not have; ERR_CONFLICT: it is not running, quarantined, or has no
 * list of names (microagent_machine.egress); ERR_NOT_FOUND: that is not listed or published;
 * ERR_UNAVAILABLE: the host's port is taken; ERR_TIMEOUT: its guest's agent does not answer, as
 * that of an older version. On failure nothing is opened. */
int microagent_change_network(struct microagent *agent, const char *name,
			      enum microagent_network_change change, const char *word,
			      json_t **network, struct error *err);
/* Whether word is one for that change; ERR_INVALID. */
int microagent_check_network_change(enum microagent_network_change change, const char *word,
				    struct error *err);
/* What a running workspace runs on: "kvm" or "tcg" ("" when not recorded). TCG is emulation and
 * no security boundary; a user interface says so at every start. */
int microagent_accelerator(struct microagent *agent, const char *name, char out[8],
			   struct error *err);

/* --- commands in the guest: their options, streams and ends are in <microagent/exec.h> -------- */

struct microagent_run_options {
	const char *name; /* NULL: made up, "run-calm-otter-3fa9" */
	bool keep;	  /* the workspace stays afterwards; else nothing does */
	/* Called once, when the machine is up and before the command starts: the workspace's name
	 * and its accelerator as of microagent_accelerator(). May be NULL. */
	void (*started)(void *data, const char *name, const char *accelerator);
	void *data;
};

/*
 * A machine for one command: made, booted, run, and ended again. options may be NULL. Without
 * spec->command it is the image's entrypoint and arguments, or either; ERR_INVALID without those
 * too. Returns when everything has ended, also after a cancel; if the calling process dies, however
 * it dies, the machine ends too. A command that exits with another code than 0 is no error here.
 */
int microagent_run(struct microagent *agent, const struct microagent_spec *spec,
		   const struct microagent_run_options *options,
		   const struct microagent_streams *streams, struct microagent_outcome *outcome,
		   struct error *err);

/* One more command in a running workspace. ERR_CONFLICT when it is not running. */
int microagent_exec(struct microagent *agent, const char *name, const struct microagent_exec *exec,
		    const struct microagent_streams *streams, struct microagent_outcome *outcome,
		    struct error *err);

/* A connection to the serial console of a running workspace: raw bytes both ways, from now on.
 * There is one at a time: a second one is closed at once. */
int microagent_console_open(struct microagent *agent, const char *name, struct error *err);
/* --- a guest that many threads use ----------------------------------------------------------- */

/*
 * A handle for commands and files of one running workspace, for ANY NUMBER OF THREADS at once. It
 * holds connections to the guest's agent and shares them: a command costs no dial and no process of
 * the host. When the machine is stopped and started again the next call dials again; when the
 * workspace is deleted the handle is of no use any more.
 *
 * What ends a call early: the guest's own time limit (timeout_seconds of the command), the host's
 * (timeout_ms), and a cancel. Each kills the command's whole tree of processes in the guest. The
 * host's limit and the cancel hold also when the guest never answers: its word that the command has
 * ended is waited for for 5 s (CANCEL_MS of `microagent contract`), then the call is ERR_TIMEOUT,
 * "the guest does not answer: ...", and the command is killed when its connection is closed.
 * Reaching the guest's agent takes 5 s at most (DIAL_MS) with or without a limit.
 *
 * A guest that breaks the protocol, and a machine that ends, end the connection: every call on it
 * is an error (ERR_IO, ERR_UNAVAILABLE) and the next call dials again.
 */
struct microagent_guest;

/* Waits until a command can be run in it, timeout_ms at most (0: looks once). ERR_NOT_FOUND without
 * the workspace and ERR_CONFLICT for one in quarantine at once; at the end of the time the reason
 * why not. The agent may be closed before the guest is. */
struct microagent_guest *microagent_connect(struct microagent *agent, const char *name,
					    uint32_t timeout_ms, struct error *err);
/* No call may be under way. What still runs in the guest for it is killed. Accepts NULL. */
void microagent_guest_close(struct microagent_guest *guest);

/* A switch that ends calls from another thread, or from a signal handler. It may be given to any
 * number of calls at once, and must outlive them. Once thrown it stays so: later calls that are
 * given it are ended too. */
struct microagent_cancel;
struct microagent_cancel *microagent_cancel_new(struct error *err);
void microagent_cancel_fire(struct microagent_cancel *cancel); /* async-signal-safe */
void microagent_cancel_free(struct microagent_cancel *cancel); /* accepts NULL */
/* A descriptor that is readable once it has been thrown, for microagent_streams and poll(). It is
 * the switch's: nothing is read from it and it is not closed. */
int microagent_cancel_fd(const struct microagent_cancel *cancel);

/* What a call on a guest may take. Zero and NULL are the defaults, so start from {0}. */
struct microagent_run_limits {
	const void *stdin_bytes; /* NULL: the command reads from /dev/null */
	size_t stdin_len;	 /* bytes */
	uint32_t timeout_ms;	 /* of the call, on the host's clock; 0: none */
	/* Bytes of output that are kept, the first ones; the command goes on all the same. 0: 8 MiB
	 * each. Memory grows with what comes and to about twice that. */
	size_t stdout_cap, stderr_cap;
	const struct microagent_cancel *cancel; /* NULL: none */
};

/* Frees the buffers and zeroes it. Accepts a zeroed one. */
void microagent_result_free(struct microagent_result *result);

/*
 * Runs a command and keeps what it says. exec->terminal must be NULL and
 * resume_seconds 0. limits may be NULL. A command
 * that ends with another code than 0, is timed out or cancelled is a success, with its output until
 * then. On success free *out. Calls of all threads go over one connection, up to 256 at once, and
 * over further ones beyond that.
 */
int microagent_guest_run(struct microagent_guest *guest, const struct microagent_exec *exec,
			 const struct microagent_run_limits *limits, struct microagent_result *out,
			 struct error *err);

/* The same with the output as it comes, without limit, on a connection of its own: a few are kept
 * for the next. The time that callbacks take counts, and limits are looked at between them. */
int microagent_guest_stream(struct microagent_guest *guest, const struct microagent_exec *exec,
			    const struct microagent_callbacks *callbacks,
			    const struct microagent_run_limits *limits,
			    struct microagent_result *out, struct error *err);

/* --- files ----------------------------------------------------------------------------------- */

struct microagent_copy {
	const char *user; /* of the guest, with whose rights; NULL: the image's, else uid 1000 */
	/* Something was left out: a device, or a link that leads out of what is copied. NULL: not
	 * told. */
	void (*skipped)(void *data, const char *path, const char *why);
	void *data;
	/* Bytes of files' contents that were copied so far, and the path at hand, relative to what
	 * is copied; called for every chunk. NULL: not told. */
	void (*progress)(void *data, uint64_t bytes, const char *path);
	/* When readable the copy ends, ERR_UNAVAILABLE, and leaves nothing; 0: never. Nothing is
	 * read from it. */
	int cancel;
	/* No more than so many bytes: of contents, holes too, and 512 for each file or directory
	 * below what is copied. ERR_CONFLICT for what is more; 0: any number. */
	uint64_t limit_bytes;
	/* A directory of the host that host_path is below, as if it were the root: neither ".." nor
	 * a symbolic link leads out of it, whoever changes it meanwhile. ERR_IO where the system
	 * cannot promise that; 0: host_path is any path. */
	int within;
	/* For a copy out of the guest: a regular file of the host that is open for writing, in the
	 * place of host_path, which is NULL then. The contents of the guest's regular file are
	 * written to it from its offset on; a failed copy may have written a part. ERR_INVALID: it
	 * is a directory in the guest. A file without a name leaves nothing behind in a process
	 * that is killed. 0: there is none. */
	int file;
};

/*
 * A file, or a directory with all that is in it. path is absolute, in the guest; host_path is a new
 * name, a file to be replaced, or a directory to put it in; a symbolic link is not written through.
 * Contents, permissions, times of modification, holes and hard links arrive as they are, verified
 * by a digest; owners are whoever receives, and on the host the umask of the process holds. Under
 * its name there is all of it or nothing. A running workspace is asked through its agent; for one
 * at rest a machine is booted that has its disk and runs nothing of it. options may be NULL.
 */
int microagent_copy_out(struct microagent *agent, const char *name, const char *path,
			const char *host_path, const struct microagent_copy *options,
			struct error *err);
int microagent_copy_in(struct microagent *agent, const char *name, const char *host_path,
		       const char *path, const struct microagent_copy *options, struct error *err);
/*
 * What path of the guest names, by the same ways: {"path","entries":[{"name","type","mode","size",
 * "mtime","mtimeNs","uid","gid","links","target"?}]}, for a directory its entries sorted by name,
 * else the one thing; and the entry alone, of a link itself. type: "file", "directory", "link",
 * "fifo", "socket", "block" or "char"; mode: the permission bits; mtime: seconds since 1970,
 * mtimeNs what is left. In a name that is no UTF-8 the bad bytes are U+FFFD. user as in struct
 * microagent_copy.
 */
json_t *microagent_list_files(struct microagent *agent, const char *name, const char *path,
			      const char *user, struct error *err);
json_t *microagent_stat_file(struct microagent *agent, const char *name, const char *path,
			     const char *user, struct error *err);

/* The same for a guest handle, which must be running, from any thread. Of limits timeout_ms and
 * cancel count, and may be NULL; options->cancel counts too. ERR_TIMEOUT when the time is over and
 * ERR_UNAVAILABLE for what was cancelled, a few seconds later at most; nothing is left half-copied.
 */
int microagent_guest_copy_out(struct microagent_guest *guest, const char *path,
			      const char *host_path, const struct microagent_copy *options,
			      const struct microagent_run_limits *limits, struct error *err);
int microagent_guest_copy_in(struct microagent_guest *guest, const char *host_path,
			     const char *path, const struct microagent_copy *options,
			     const struct microagent_run_limits *limits, struct error *err);
/* An array of the entries that microagent_list_files() has, and the one entry. New references. */
json_t *microagent_guest_list(struct microagent_guest *guest, const char *path, const char *user,
			      const struct microagent_run_limits *limits, struct error *err);
json_t *microagent_guest_stat(struct microagent_guest *guest, const char *path, const char *user,
			      const struct microagent_run_limits *limits, struct error *err);
/* {"ingress":[...],"egress":[...]}: the declared bundles and outputs. */
int microagent_artifacts(struct microagent *agent, const char *name, json_t **artifacts,
			 struct error *err);
/* A declared output, read from its disk without the help of anything that runs in the guest but a
 * freeze of the file system. options->user has no meaning here. */
int microagent_artifact_get(struct microagent *agent, const char *name, const char *artifact,
			    const char *host_path, const struct microagent_copy *options,
			    struct error *err);
/* A workspace `target` with copies of the disks of one at rest, prepared. */
int microagent_clone(struct microagent *agent, const char *source, const char *target,
		     json_t **response, struct error *err);

/* --- logs ------------------------------------------------------------------------------------ */

/* The serial console's log, opened for reading; ERR_NOT_FOUND without workspace, and an empty log
 * when it was never started. */
int microagent_log_open(struct microagent *agent, const char *name, struct error *err);
/* {"events":[...]}, oldest first: the states that it went through. microagent_log_watch() and
 * microagent_log_wait() tell of new ones too. */
json_t *microagent_events(struct microagent *agent, const char *name, struct error *err);
/* Whether something of the workspace lives. */
int microagent_is_running(struct microagent *agent, const char *name, bool *running,
			  struct error *err);
/* Waits until the log may have grown, the workspace's machine has ended or started, or `cancel` is
 * readable (-1: never). *running says whether something of the workspace lives. watch is a
 * descriptor made by microagent_log_watch(), and given back by microagent_log_unwatch(). 1, and
 * *running untouched: nobody reads `out` any more
 * (-1: not looked at), so that a quiet machine does not keep its reader's pipeline alive. */
int microagent_log_watch(struct microagent *agent, const char *name, struct error *err);
void microagent_log_unwatch(int watch);
int microagent_log_wait(struct microagent *agent, const char *name, int watch, int out, int cancel,
			bool *running, struct error *err);

/* --- what it costs --------------------------------------------------------------------------- */

/* How its last start went: {"accelerator","acceleratorReason","timings":{NAME:NS},"boot"?} as
 * runtime.json has them (schema/runtime.json): marks of CLOCK_MONOTONIC in nanoseconds, of which
 * "begun" is the first, "vmm" when the VMM runs, "hello" when the guest has spoken and "ready" when
 * it takes commands. ERR_NOT_FOUND: it was never started. */
json_t *microagent_last_start(struct microagent *agent, const char *name, struct error *err);

/* Nanoseconds from the call on: until the guest's agent is reached, until the program runs, until
 * its end is told. */
struct microagent_exec_times {
	uint64_t reached_ns, started_ns, ended_ns;
};
/* One command of a running workspace, over a connection of its own that is made for it, as
 * microagent_exec() runs it; what it says is dropped. ERR_IO: it did not end with 0. */
int microagent_time_exec(struct microagent *agent, const char *name,
			 const struct microagent_exec *exec, struct microagent_exec_times *out,
			 struct error *err);

/* The memory of each process of a running workspace: {"processes":[{"name","pid","residentBytes",
 * "proportionalBytes","privateBytes"}]}, the VMM first; private is what only it has, and
 * proportional each page by how many have it. One that is not shown to us has "error" instead of
 * the numbers. ERR_CONFLICT: nothing of it lives. */
json_t *microagent_footprint(struct microagent *agent, const char *name, struct error *err);

/* --- the host -------------------------------------------------------------------------------- */

/* The supervisor's answer to `host`: {"ok":true,"backend","host":{...},"kernel"?}. */
int microagent_host(struct microagent *agent, json_t **response, struct error *err);
/* The contract, agent-runtime.v1 (schema/contract.json): states, commands, signals and limits, and
 * for each backend what its supervisor says that it does; of one that is not on this host, what it
 * said when this library was built. */
json_t *microagent_contract(struct error *err);
/* {"ok","verdict":"ok"|"degraded"|"failed","host"?,"checks":[{"name","status","detail","remedy"?,
 * "reason"?}]}: remedy is a command of the host that mends it; reason, the name of an error_reason,
 * is there where a function of this library or of its companions does. Every check has the
 * verdict's words as status; the worst one is the verdict. Fails only for want of memory: what is
 * missing is an answer, not an error. */
json_t *microagent_doctor(struct microagent *agent, struct error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
