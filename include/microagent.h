/* SPDX-License-Identifier: MIT */
/*
 * libmicroagent: a separate virtual machine for every task of an AI agent.
 *
 * A workspace is a named machine: a disk cloned from an image, a kernel, memory and processors, and
 * perhaps a command. All that is known about a workspace is in files below a state directory, and
 * the library remembers nothing else. So a handle may be opened and closed at any time, and other
 * programs may use the same state directory at the same time.
 *
 * Errors. A function that can fail has `struct error *err` as its last parameter
 * (<microagent/error.h>; NULL is allowed). Such a function returns 0 or a value on success, and -1
 * or NULL on failure. Outputs are untouched on failure. The code of an error is stable. The reason
 * of an error is stable too, and describes the fault more exactly. The subject of an error names
 * the thing that the reason is about. The message is for people, and only describes the fault: the
 * calling program knows what can be done about it. The codes:
 *   ERR_INVALID      an argument is wrong (a name, an option, a file that is not an image)
 *   ERR_NOT_FOUND    the workspace, kernel, image or program does not exist
 *   ERR_CONFLICT     the request is not allowed in the state that the workspace has now
 *   ERR_UNSUPPORTED  this backend or host can never do what the caller asks for
 *   ERR_UNAVAILABLE, ERR_TIMEOUT  trying again may help
 *   ERR_DENIED       rights are missing
 *   ERR_IO           the system, the machine or its guest failed
 *   ERR_INTERNAL     a bug in this library
 * The library never prints, logs or asks anything, and never ends the process.
 *
 * Threads. A `struct microagent` may be used by one thread at a time. A `struct microagent_guest`
 * and a `struct microagent_cancel` may be used by any number of threads at once. Different handles
 * are independent. Every function blocks until its work is done; microagent_on_wait() sets a
 * function that is called while time passes. The library starts child processes, and reaps only its
 * own children. The library does not change how this process handles a signal. The caller must
 * ignore SIGPIPE while microagent_run() or microagent_exec() is at work.
 *
 * JSON. Documents are jansson values; the caller gets a new reference. The response of a workspace
 * function is the response of the supervisor protocol (schema/), and always has "ok": true. If the
 * supervisor answers with "ok": false, the function fails with an error.
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
/* Exports the functions that are declared here. All other symbols of the library are hidden
 * (-fvisibility=hidden). */
#pragma GCC visibility push(default)

/* Returns the version of the library, like "0.1.0". */
const char *microagent_version(void);
/* Returns the name of a code as JSON has it: "invalid", "not-found", ... */
const char *microagent_error_name(enum error_code code);
/* Returns the name of a reason as JSON has it: "no-workspace", "session-down", ...; "none" for
 * REASON_NONE. */
const char *microagent_reason_name(enum error_reason reason);

struct microagent;

/* Opens a handle for a state directory. If `state_dir` is NULL, the state directory is
 * $MICROAGENT_STATE_DIR, or else ~/.microagent. This function touches no file: the directory is
 * made together with its first workspace. */
struct microagent *microagent_open(const char *state_dir, struct error *err);
void microagent_close(struct microagent *agent); /* accepts NULL */
/* Returns the absolute path of the state directory. */
const char *microagent_state_dir(const struct microagent *agent);

/* Sets a function that is called while another function waits for a machine (a boot, a power-off).
 * The waiting thread calls `fn` about five times a second, but never while bytes are being
 * streamed. If `fn` is NULL, nothing is called. */
void microagent_on_wait(struct microagent *agent, void (*fn)(void *data), void *data);

/* --- workspaces ------------------------------------------------------------------------------ */

/* Checks the name of a workspace: a letter or digit, then letters, digits, '.', '_' and '-', at
 * most 63 characters in total. The name must not be one of the names that a state directory uses
 * for its own files. Otherwise fails with ERR_INVALID, and the message says what is wrong. */
int microagent_check_name(const char *name, struct error *err);

/* Checks that `word` is "KEY=VALUE" with a name that a variable can have. ERR_INVALID says what is
 * wrong. */
int microagent_check_env(const char *word, struct error *err);

/* Check that `word` is "[HOST:]HOSTPORT:GUESTPORT[/tcp]" (publish), or "PORT=HOST:PORT" (listener).
 * Otherwise the functions fail with ERR_INVALID. Neither function checks whether such a port is
 * free. */
int microagent_check_publish(const char *word, struct error *err);
int microagent_check_listener(const char *word, struct error *err);

/* Check that `word` is "NAME=PATH:/MOUNTPOINT:ro|rw" (disk), or "DIR[:/PLACE[:OPTION,...]]"
 * (share). Otherwise the functions fail with ERR_INVALID. PATH is a raw disk image with an ext4
 * file system. DIR is a directory of the host, which the guest sees on PLACE, or on /workspace
 * without a PLACE. Neither function looks at the files. */
int microagent_check_disk(const char *word, struct error *err);
int microagent_check_share(const char *word, struct error *err);
/* Returns the directory that microagent_machine.share_git would share in addition to the directory
 * that `word` shares: without this directory git does not work in the guest. Returns NULL if git
 * needs no further directory, or if the function cannot find this out. The caller frees the result.
 * `word` is as for microagent_check_share(); but if `at` is not NULL, word is only a directory,
 * which is shared on the path `at`. */
char *microagent_git_outside(const char *word, const char *at);

/* Returns true if the word, as for microagent_check_share(), shares the directory for a review. */
bool microagent_share_is_review(const char *word);
/* Check that `word` is "NAME=ARCHIVE:/MOUNTPOINT" (bundle), or "NAME=/PATH" (output). Otherwise the
 * functions fail with ERR_INVALID. ARCHIVE is a tar archive. PATH is a file or directory that the
 * guest will write. */
int microagent_check_bundle(const char *word, struct error *err);
int microagent_check_output(const char *word, struct error *err);

/* The largest numbers of bytes and of operations that a machine may transfer in a second, each at
 * most 10^12; 0: no limit. */
struct microagent_rates {
	int64_t disk_bytes, disk_ops; /* the limits of all writable disks of the machine together */
	int64_t net_bytes;	      /* the limit of each direction of the network; only for
				       * "nat" */
};

/* The hosts on the internet that a machine on nat may reach, by name. If a member of this struct is
 * set, the machine reaches nothing else, except what microagent_machine.allow opens. */
struct microagent_egress {
	/* Words as microagent_check_egress() checks them, NULL-terminated. NULL: this member is not
	 * set. A list without words counts as set, and opens nothing. */
	const char *const *names;
	/* Names of lists of words like those of `names`, NULL-terminated. NULL: this member is not
	 * set. Each name is "npm", "pypi", "debian" or "github", a list that the library has, or a
	 * path with a '/' to a file with one word on each line ('#' begins a comment). */
	const char *const *from;
	bool sni_off; /* if true, connections are judged only by their addresses, and not by the
		       * names that they send in TLS or HTTP */
	bool dry_run; /* if true, nothing is refused, and connections that would be refused are
		       * reported */
};

/* Checks that `word` is "NAME[:PORT[,PORT...]]" or an IPv4 prefix "A.B.C.D/N". NAME is a host like
 * "pypi.org", or "*.debian.org" for all hosts below debian.org. A NAME without ports stands for the
 * ports 443 and 80. ERR_INVALID says what is wrong. */
int microagent_check_egress(const char *word, struct error *err);
/* Checks that `word` can be an element of microagent_egress.from. Does not look at a file. */
int microagent_check_egress_list(const char *word, struct error *err);

/*
 * A machine: its hardware, its network, what it shares with the host, and its limits. Each spec of
 * a thing that makes machines (a workspace, a session, a base, a template, a pool) has this struct
 * as its member `machine`. Zero and NULL are the defaults, and lists end with NULL. If a field is
 * set that the thing to be made cannot have, the call fails with ERR_INVALID, and the message names
 * the field. A workspace can have every field. The words in brackets name what else can have the
 * field. The default memory and number of processors of a session are those of its base.
 */
struct microagent_machine {
	/* [base] "amd64" or "arm64"; NULL: that of the host. The kernel and the image must be of
	 * this architecture. On a host of another architecture the machine is emulated. A session
	 * has the architecture of its base. */
	const char *architecture;
	const char *network;		 /* [session, base, pool] the network mode: "nat" (NULL),
					  * "isolated" or "bridged" */
	const char *network_interface;	 /* [session, base] the name of the host's bridge; only for
					  * "bridged" */
	const char *const *allow;	 /* [session, base] IPv4 prefixes, of a private network for
					  * example, that a machine on nat may reach in addition to
					  * what nat or `egress` opens */
	struct microagent_egress egress; /* [session, base] the hosts that the machine may reach by
					  * name; only for "nat" */
	/* [session] TCP ports of the guest that are published: the host listens for them. Words as
	 * microagent_check_publish() checks them. HOST is an address of this host, 127.0.0.1 by
	 * default. */
	const char *const *publish;
	/* [session] Vsock ports of the host to which the guest may connect: words as
	 * microagent_check_listener() checks them. `mediation` is the mediation channel, `vsock`
	 * are further ports. */
	const char *mediation;
	bool mediation_optional; /* [session] the machine may run without the mediation */
	const char *const *vsock;
	/* Further disks, and [session] shared directories: words as microagent_check_disk() and
	 * microagent_check_share() check them. A session can have more than 8 directories only if
	 * its machine is booted with them. */
	const char *const *disks, *const *shares;
	bool share_anyway; /* [session] a directory that holds keys, or the home directory, may be
			    * shared */
	/* [session] If set, and a shared directory is a git worktree, the guest also gets the
	 * directory that all worktrees of the repository have in common, with its hooks and
	 * configuration. The guest gets it at the path to which .git leads in the guest. Fails with
	 * ERR_INVALID if .git is not as `git worktree add` makes it, or if the repository to which
	 * .git leads does not lead back to this .git. Also fails with ERR_INVALID if the common
	 * directory holds another share or lies in one. */
	bool share_git;
	struct microagent_rates rates; /* [session] */
	/* From the rows of src/contract/config_fields.def, by `make lists`: */
	/* [session, base, pool] The memory of the machine in MiB: at least 64, at most the memory
	 * of the host. The default is 512. */
	int64_t memory_mib;
	/* [session, base, pool] The number of the machine's processors: at least 1, at most the
	 * number of the host's processors. The default is 2. For an emulated guest (TCG) the
	 * default is 1, since all processors of an emulated guest run on one processor of the
	 * host. */
	int64_t cpus;
	/* [session, base, template] How the processors of the guest run: kvm runs them by KVM, and
	 * tcg emulates them. The default is auto, which is kvm if KVM works, and otherwise tcg.
	 * Emulation is no security boundary. */
	const char *accelerator;
	/* Here the rows end. */
};

/* The parts of which a workspace is made. Zero and NULL are the defaults, so start from {0}.
 * Strings are borrowed for the call. */
struct microagent_spec {
	struct microagent_machine machine;
	const char *image;	    /* the name of an image in the cache, or a path with a '/' to a
				     * raw ext4 file */
	const char *kernel;	    /* the name of a kernel in the cache, or a path with a '/' to a
				     * kernel */
	const char *initrd;	    /* path of the initrd; NULL: the initrd beside the kernel */
	bool no_disk;		    /* The workspace has no image: the contents of `initrd` are the
				     * root file system, which is in memory and is lost when the
				     * machine ends. */
	const char *const *env;	    /* variables of the command as "KEY=VALUE", NULL-terminated; the
				     * variables of the image are set too */
	const char *user;	    /* the guest's user that runs the command; NULL: the image's
				     * user, or uid 1000 if the image names none */
	const char *const *command; /* the argument vector, NULL-terminated; NULL: the image's
				     * entrypoint with its arguments, or no command if the image has
				     * no entrypoint */
	int64_t timeout_seconds;    /* time limit of the command in seconds; 0: no limit */
	/* `bundles` are archives that the guest finds unpacked and read-only: words as
	 * microagent_check_bundle() checks them. `outputs` name the files and directories that
	 * microagent_artifact_get() may fetch: words as microagent_check_output() checks them. Both
	 * lists are NULL-terminated; NULL: no bundles, or no outputs. */
	const char *const *bundles, *const *outputs;
	const char *console; /* "shell": a root shell on the serial console; NULL: no shell */
};

/* Selects the backend for everything that this handle makes from now on. `name` is the name of a
 * backend in microagent_contract(). Without this call the backend is "qemu", or "apple-vf" on a
 * Mac. Existing workspaces keep their backend. ERR_INVALID if there is no backend of that name.
 * microagent_check_backend() only checks the name. */
int microagent_use_backend(struct microagent *agent, const char *name, struct error *err);
int microagent_check_backend(const char *name, struct error *err);

/* Makes all VMMs that this handle starts from now on run without a cell, only under their seccomp
 * filter. This setting is for a host on which no cell can be made. Without this call every start on
 * such a host fails with ERR_UNAVAILABLE. A workspace that is made after this call records the
 * setting, which then applies to every later start. */
void microagent_unconfined(struct microagent *agent);

/* Clones the image and prepares the workspace; nothing runs yet. ERR_CONFLICT if there is a
 * workspace of that name. On failure nothing is left behind. */
int microagent_create(struct microagent *agent, const char *name,
		      const struct microagent_spec *spec, json_t **response, struct error *err);
/* Records the kernel, the microagent-init and the disk that a workspace at rest has now. The config
 * of the workspace stays as it is. Differences from an earlier record are accepted. */
int microagent_prepare(struct microagent *agent, const char *name, json_t **response,
		       struct error *err);
/* Boots a workspace. Returns when the guest is ready for microagent_exec(). If the config of the
 * workspace has a command, the command is already running by then. */
int microagent_start(struct microagent *agent, const char *name, json_t **response,
		     struct error *err);
/* Returns the state, readiness, verification and result of a workspace. ERR_NOT_FOUND for an absent
 * workspace. */
int microagent_status(struct microagent *agent, const char *name, json_t **response,
		      struct error *err);
/* Does what microagent_status() does, and also computes a digest of the root file system, which may
 * take a while. */
int microagent_verify(struct microagent *agent, const char *name, json_t **response,
		      struct error *err);
/* Stops a machine: the guest ends its command, unmounts its disks and powers off. A machine that
 * has not stopped after the time HALT_MS of microagent_contract() is killed. */
int microagent_stop(struct microagent *agent, const char *name, json_t **response,
		    struct error *err);
/* Stops a machine as microagent_stop() does, but records the workspace as `halted`. */
int microagent_halt(struct microagent *agent, const char *name, json_t **response,
		    struct error *err);
/* Cuts every channel of a running machine to the outside. The machine goes on. Success means that
 * the cut is proven. If the cut cannot be proven, the machine is killed and the call fails. If no
 * machine runs, only the state is recorded. */
int microagent_quarantine(struct microagent *agent, const char *name, json_t **response,
			  struct error *err);
/* Ends the machine at once. */
int microagent_kill(struct microagent *agent, const char *name, json_t **response,
		    struct error *err);
/* Sets how much of its memory a running guest may have, in MiB. The host gets back the memory that
 * the guest gives up. The response is {"ok","balloon":{"memoryMiB","actualMiB"}}: the memory that
 * the machine was booted with, and the memory that it has when the function returns. "actualMiB"
 * may be more than `mib`, because a guest gives up only memory that it does not need. ERR_INVALID
 * if `mib` is out of range, ERR_CONFLICT if the workspace is not running. */
int microagent_balloon(struct microagent *agent, const char *name, int64_t mib, json_t **response,
		       struct error *err);
/* Removes a workspace together with its disk. The workspace must not have a living process.
 * Succeeds if the workspace is absent. */
int microagent_delete(struct microagent *agent, const char *name, json_t **response,
		      struct error *err);
/* Returns all workspaces, sorted by name:
 * {"workspaces":[{"name","state","observedAt","detail"?,"memoryMiB","cpuCount","command"?}]}. A
 * workspace whose files are damaged has state "unknown", "error" and perhaps "reason". */
json_t *microagent_list(struct microagent *agent, struct error *err);
/* Returns the network for which a workspace was prepared:
 * {"workspace","state","backend","network":{"mode","allow","portForwards"}}. While the workspace
 * runs there is also "runtime":{"mode","ip","subnet","gateway","dns","routes"}, as far as the host
 * knows these values, and with a "detail" if they need an explanation. ERR_NOT_FOUND for an absent
 * workspace. */
json_t *microagent_network(struct microagent *agent, const char *name, struct error *err);
/* The kinds of change to a network, and the word that each kind needs. */
enum microagent_network_change {
	MICROAGENT_NETWORK_ALLOW,    /* adds a rule; the word is as microagent_check_egress() checks
				      * it */
	MICROAGENT_NETWORK_DENY,     /* removes a rule; the word is as for ALLOW, but a NAME without
				      * ports removes all rules with this NAME */
	MICROAGENT_NETWORK_PUBLISH,  /* a word as microagent_check_publish() checks it */
	MICROAGENT_NETWORK_UNPUBLISH /* "[HOST:]HOSTPORT" */
};
/* Changes the network of a running workspace, and its recorded network for the next start.
 * Connections that only a removed rule had allowed are ended. *network (may be NULL) becomes the
 * network after the change, {"mode","allow"?,"egress"?,"portForwards"?}, a new reference.
 * ERR_INVALID for a word that is malformed or that the config of the workspace could not have.
 * ERR_CONFLICT if the workspace is not running, is quarantined, or has no list of names
 * (microagent_machine.egress). ERR_NOT_FOUND if the word is not listed or published.
 * ERR_UNAVAILABLE if the host's port is taken. ERR_TIMEOUT if the guest's agent does not answer; an
 * agent of an older version never answers. On failure nothing is opened. */
int microagent_change_network(struct microagent *agent, const char *name,
			      enum microagent_network_change change, const char *word,
			      json_t **network, struct error *err);
/* Checks that `word` is valid for the kind of change. Otherwise fails with ERR_INVALID. */
int microagent_check_network_change(enum microagent_network_change change, const char *word,
				    struct error *err);
/* Stores in `out` the accelerator of a running workspace: "kvm" or "tcg" ("" if none is recorded).
 * With "tcg" the machine is emulated, and emulation is not a security boundary. A user interface
 * should say so at every start. */
int microagent_accelerator(struct microagent *agent, const char *name, char out[8],
			   struct error *err);

/* --- commands in the guest: their options, streams and ends are in <microagent/exec.h> -------- */

struct microagent_run_options {
	const char *name; /* the name of the workspace; NULL: a random name like
			   * "run-calm-otter-3fa9" */
	bool keep;	  /* if true, the workspace stays after the command; if false, it is
			   * removed */
	/* Is called once, when the machine is up and before the command starts, with the name of
	 * the workspace, and with the accelerator as microagent_accelerator() stores it. May be
	 * NULL. */
	void (*started)(void *data, const char *name, const char *accelerator);
	void *data;
};

/*
 * Makes a machine for one command, boots it, runs the command, and ends the machine again.
 * `options` may be NULL. If spec->command is NULL, the command is the image's entrypoint, followed
 * by the image's default arguments. The image may lack one of the two; ERR_INVALID if it has
 * neither. Returns when everything has ended, also after a cancel. If the calling process dies in
 * any way, the machine ends too. A command that exits with another code than 0 is not an error
 * here.
 */
int microagent_run(struct microagent *agent, const struct microagent_spec *spec,
		   const struct microagent_run_options *options,
		   const struct microagent_streams *streams, struct microagent_outcome *outcome,
		   struct error *err);

/* Runs one more command in a running workspace. ERR_CONFLICT if the workspace is not running. */
int microagent_exec(struct microagent *agent, const char *name, const struct microagent_exec *exec,
		    const struct microagent_streams *streams, struct microagent_outcome *outcome,
		    struct error *err);

/* Returns a descriptor that is connected to the serial console of a running workspace. The
 * descriptor passes raw bytes in both directions. Output that the console printed before the call
 * is not repeated. The caller closes the descriptor. A console has one connection at a time. While
 * this connection is open, each further connection is closed at once. */
int microagent_console_open(struct microagent *agent, const char *name, struct error *err);
/* --- a guest that many threads use ----------------------------------------------------------- */

/*
 * A handle for commands and files of one running workspace, for ANY NUMBER OF THREADS at once. The
 * handle holds connections to the guest's agent and shares them: a command needs no new connection
 * and no process of the host. When the machine is stopped and started again, the next call connects
 * again. After the workspace was deleted, every call on the handle fails.
 *
 * A call can be ended early by the guest's time limit (timeout_seconds of the command), by the
 * host's time limit (timeout_ms), and by a cancel. Each of these kills the command's whole tree of
 * processes in the guest. The host's limit and the cancel work even if the guest never answers: the
 * host waits 5 s (CANCEL_MS of `microagent contract`) for the guest's report that the command has
 * ended. Then the call fails with ERR_TIMEOUT, "the guest does not answer: ...", and the command is
 * killed when its connection is closed. Connecting to the guest's agent takes at most 5 s (DIAL_MS)
 * with or without a limit.
 *
 * The connection ends if the guest breaks the protocol, and when the machine ends. Every call on
 * that connection then fails (ERR_IO, ERR_UNAVAILABLE), and the next call connects again.
 */
struct microagent_guest;

/* Returns a handle as soon as a command can be run in the workspace. Waits for at most `timeout_ms`
 * milliseconds (0: tries once). Fails at once with ERR_NOT_FOUND if there is no workspace of that
 * name, and with ERR_CONFLICT if the workspace is in quarantine. If the time is over, the error
 * says why no command can be run. `agent` may be closed before the handle. */
struct microagent_guest *microagent_connect(struct microagent *agent, const char *name,
					    uint32_t timeout_ms, struct error *err);
/* Closes the handle. No call may be under way. Commands of this handle that still run in the guest
 * are killed. Accepts NULL. */
void microagent_guest_close(struct microagent_guest *guest);

/* A switch by which another thread, or a signal handler, ends calls. The switch may be given to any
 * number of calls at once, and must live longer than these calls. A switch that was thrown stays
 * thrown, so a later call with this switch ends at once. */
struct microagent_cancel;
struct microagent_cancel *microagent_cancel_new(struct error *err);
void microagent_cancel_fire(struct microagent_cancel *cancel); /* async-signal-safe */
void microagent_cancel_free(struct microagent_cancel *cancel); /* accepts NULL */
/* Returns a descriptor that is readable once the switch was thrown, for microagent_streams and
 * poll(). The descriptor belongs to the switch: the caller must neither read from it nor close
 * it. */
int microagent_cancel_fd(const struct microagent_cancel *cancel);

/* Limits and input of one call on a guest. Zero and NULL are the defaults, so start from {0}. */
struct microagent_run_limits {
	const void *stdin_bytes; /* the bytes that the command reads as stdin; NULL: it reads from
				  * /dev/null */
	size_t stdin_len;	 /* bytes */
	uint32_t timeout_ms;	 /* time limit of the call in milliseconds, on the host's clock; 0:
				  * no limit */
	/* How many bytes of stdout and of stderr are kept, from their beginning. Further output is
	 * dropped, and the command goes on. 0: 8 MiB each. The memory in use grows with the output,
	 * up to about twice the kept bytes. */
	size_t stdout_cap, stderr_cap;
	const struct microagent_cancel *cancel; /* NULL: no switch */
};

/* Frees the buffers of a result and sets it to zero. Accepts a zeroed result. */
void microagent_result_free(struct microagent_result *result);

/*
 * Runs a command and keeps its output. exec->terminal must be NULL and exec->resume_seconds 0.
 * `limits` may be NULL. It is not an error if the command ends with another code than 0, times out
 * or is cancelled: *out has its output until that moment. On success the caller frees *out with
 * microagent_result_free(). Up to 256 calls of all threads share one connection; for more calls at
 * once further connections are made.
 */
int microagent_guest_run(struct microagent_guest *guest, const struct microagent_exec *exec,
			 const struct microagent_run_limits *limits, struct microagent_result *out,
			 struct error *err);

/* Runs a command, and passes its output to `callbacks` as soon as it arrives. The amount of output
 * is not limited. The command has a connection that no other call uses. A few such connections are
 * kept for later calls. The time that callbacks take counts towards the time limits. A limit that
 * is reached during a callback takes effect when the callback returns. */
int microagent_guest_stream(struct microagent_guest *guest, const struct microagent_exec *exec,
			    const struct microagent_callbacks *callbacks,
			    const struct microagent_run_limits *limits,
			    struct microagent_result *out, struct error *err);

/* --- files ----------------------------------------------------------------------------------- */

struct microagent_copy {
	const char *user; /* the user of the guest with whose rights files are read or written in
			   * the guest; NULL: the image's user, or uid 1000 if the image names
			   * none */
	/* Is called for each entry that was left out: `path` is the entry, relative to the root of
	 * the copy, and `why` is the reason, like "permission denied". May be NULL. */
	void (*skipped)(void *data, const char *path, const char *why);
	void *data;
	/* Is called for every chunk, with the number of bytes of files' contents that were copied
	 * so far, and with the path that is being copied, relative to the root of the copy. May be
	 * NULL. */
	void (*progress)(void *data, uint64_t bytes, const char *path);
	/* When this descriptor is readable, the copy ends with ERR_UNAVAILABLE and leaves nothing.
	 * Nothing is read from the descriptor. 0: no descriptor. */
	int cancel;
	/* The largest number of bytes to copy: contents with their holes, and 512 bytes for each
	 * file or directory below the root of the copy. ERR_CONFLICT if there is more. 0: no
	 * limit. */
	uint64_t limit_bytes;
	/* A descriptor of a directory of the host, or 0. host_path is then resolved as if this
	 * directory were the root: neither ".." nor a symbolic link leads out of the directory,
	 * even if another program changes the directory during the copy. Fails with ERR_IO if the
	 * host's system cannot guarantee this. 0: host_path may be any path. */
	int within;
	/* For a copy out of the guest: the descriptor of a regular file of the host that is open
	 * for writing, or 0. If `file` is set, host_path must be NULL, and `path` must be a regular
	 * file of the guest. Otherwise the copy fails with ERR_INVALID. The contents are written at
	 * the file offset of the descriptor. A failed copy may have written a part of the contents.
	 * If the file has no name (O_TMPFILE), this part is gone when the process is killed. */
	int file;
};

/*
 * Copy a file, or a directory with everything in it. `path` is an absolute path of the guest. The
 * target (`host_path` for a copy out, `path` for a copy in) is a new name, a file that the copy
 * replaces, or a directory in which the copy is put. Nothing is written through a symbolic link.
 * Contents, permissions, times of modification, holes and hard links are kept, and verified by a
 * digest. The owner of the copy is the user that receives it; on the host the umask of the process
 * applies. Under the new name there is either the whole copy or nothing. In a running workspace the
 * guest's agent does the work. For a workspace at rest a machine is booted that has the disk of the
 * workspace and runs no program from this disk. `options` may be NULL.
 */
int microagent_copy_out(struct microagent *agent, const char *name, const char *path,
			const char *host_path, const struct microagent_copy *options,
			struct error *err);
int microagent_copy_in(struct microagent *agent, const char *name, const char *host_path,
		       const char *path, const struct microagent_copy *options, struct error *err);
/*
 * Return what kind of file a path of the guest names, and its attributes. The workspace may be
 * running or at rest, as for microagent_copy_out(). microagent_list_files() returns
 * {"path","entries":[{"name","type","mode","size",
 * "mtime","mtimeNs","uid","gid","links","target"?}]}. For a directory, "entries" has its entries,
 * sorted by name. For any other file, "entries" has one entry, of the file itself.
 * microagent_stat_file() returns one entry alone, and for a link the entry of the link itself.
 * "type" is "file", "directory", "link", "fifo", "socket", "block" or "char"; "mode" has the
 * permission bits; "mtime" has the seconds since 1970, and "mtimeNs" the nanoseconds beyond them.
 * In a name that is not UTF-8 the bad bytes become U+FFFD. `user` is as in struct microagent_copy.
 */
json_t *microagent_list_files(struct microagent *agent, const char *name, const char *path,
			      const char *user, struct error *err);
json_t *microagent_stat_file(struct microagent *agent, const char *name, const char *path,
			     const char *user, struct error *err);

/* Copy as microagent_copy_out() and microagent_copy_in() do, by a guest handle, from any thread.
 * The workspace must be running. Only timeout_ms and cancel of `limits` are used; `limits` may be
 * NULL. options->cancel is used too. Fails with ERR_TIMEOUT if the time is over, and with
 * ERR_UNAVAILABLE if the copy was cancelled. The call may return a few seconds after that. Nothing
 * is left half-copied. */
int microagent_guest_copy_out(struct microagent_guest *guest, const char *path,
			      const char *host_path, const struct microagent_copy *options,
			      const struct microagent_run_limits *limits, struct error *err);
int microagent_guest_copy_in(struct microagent_guest *guest, const char *host_path,
			     const char *path, const struct microagent_copy *options,
			     const struct microagent_run_limits *limits, struct error *err);
/* Return an array of entries as microagent_list_files() describes them (list), or one such entry
 * (stat), as a new reference. */
json_t *microagent_guest_list(struct microagent_guest *guest, const char *path, const char *user,
			      const struct microagent_run_limits *limits, struct error *err);
json_t *microagent_guest_stat(struct microagent_guest *guest, const char *path, const char *user,
			      const struct microagent_run_limits *limits, struct error *err);
/*
 * Finds the autorun files that changed in a directory which a guest could write to. An autorun file
 * is a file that a program of the host runs or obeys by itself, or when a usual command is started
 * in the directory: .git/config, hooks of git, .envrc, .vscode, package.json, Makefile and the
 * like.
 *
 * microagent_autorun_files() searches the directory that `share` names, a word as for
 * microagent_check_share(), for changes since `since_ns` (CLOCK_REALTIME, in nanoseconds since
 * 1970). microagent_shared_changes() searches each writable directory of a workspace or session,
 * running or stopped, for changes since it was made. A directory that was taken away from a session
 * is not searched.
 *
 * Both functions store in *changes
 * {"shares":[{"path","since","files":[{"path","by"}],"more"?,"incomplete"?,"error"?}]}. "files" is
 * sorted by path, relative to the directory; "by" says which program runs or obeys the file.
 * "more": there are more than 1,000 such files. "incomplete": a part of the directory could not be
 * searched. "error": the text that says why the directory was not searched. A read-only share is
 * not in the list. A file that was only moved together with its directory, or removed, is not
 * found.
 */
int microagent_autorun_files(const char *share, int64_t since_ns, json_t **changes,
			     struct error *err);
int microagent_shared_changes(struct microagent *agent, const char *name, json_t **changes,
			      struct error *err);

/*
 * Changes in the directories that are shared with a guest for a review (a word DIR:/PLACE:review of
 * microagent_machine.shares). The guest has the files of such a directory as they were when the
 * machine was made, and changes only its own layer. A person looks at the changes, and chooses those
 * that are brought to the host.
 *
 * microagent_changes() fetches the guest's layer, and stores in *changes
 * {"reviews":[{"path","mountpoint","digest","changes":[...],"error"?}]}, one entry for each
 * directory. schema/cli-changes.json describes a change. "digest" stands for all changes together.
 * "error" says why the directory of the host cannot be looked at. The workspace may run or not; if
 * it does not run, a machine is booted that reads its disk, and that runs no program from the disk.
 * `options` is used for its progress, its limit and its cancel descriptor; NULL: none.
 *
 * The other functions work on the copy that was fetched last, and ask the guest nothing.
 * ERR_NOT_FOUND with REASON_CHANGES_NOT_LISTED: nothing was fetched yet.
 *
 * microagent_changes_diff() writes a patch to the descriptor `fd`, which `git apply` takes in the
 * directory. It needs git on this host. `colour`: with colours for a terminal.
 *
 * microagent_changes_apply() brings changes to the host, and stores in *result
 * {"reviews":[{"path","mountpoint","applied":[{"path","kind"}],"conflicts":[{"path","why"}],
 * "leftOut":[{"path","why"}],"unnamed":[{"path","by"}],"already":N,"failed"?}]}. A file that was
 * changed on the host since the machine was made is a conflict, and stays. "unnamed" has autorun
 * files, which are applied only if they, or a directory with them, are named; and files below .git,
 * which must be named themselves. "failed" says why it stopped: the disk is full, for example.
 * `digest`: ERR_CONFLICT if the changes have another digest; NULL: any.
 *
 * microagent_changes_refresh() takes the directories anew, for a workspace that does not run, so
 * that its guest sees what was changed on the host meanwhile. ERR_CONFLICT: it runs, or it has
 * changes that are not on the host. microagent_changes_drop() forgets all changes of a workspace that does not run. ERR_CONFLICT: it
 * runs.
 *
 * `paths` ends with NULL, and chooses changes: files, and directories with everything in them. A
 * path is relative to the reviewed directory, or an absolute path of the guest. If the machine has
 * several such directories, only absolute paths are allowed. NULL: all changes. ERR_NOT_FOUND: no
 * change has this path, or the workspace has no such directory.
 */
int microagent_changes(struct microagent *agent, const char *name,
		       const struct microagent_copy *options, const char *const *paths,
		       json_t **changes, struct error *err);
int microagent_changes_diff(struct microagent *agent, const char *name, const char *const *paths,
			    bool colour, int fd, struct error *err);
int microagent_changes_apply(struct microagent *agent, const char *name, const char *digest,
			     const char *const *paths, json_t **result, struct error *err);
int microagent_changes_refresh(struct microagent *agent, const char *name, struct error *err);
int microagent_changes_drop(struct microagent *agent, const char *name, struct error *err);
/* Stores the bundles and outputs that the workspace declares: {"ingress":[...],"egress":[...]}. */
int microagent_artifacts(struct microagent *agent, const char *name, json_t **artifacts,
			 struct error *err);
/* Fetches an output that the workspace declares. The output is read from the disk of the workspace,
 * without the help of programs of the guest. A running guest only freezes the file system while its
 * disk is copied. options->user has no meaning here. */
int microagent_artifact_get(struct microagent *agent, const char *name, const char *artifact,
			    const char *host_path, const struct microagent_copy *options,
			    struct error *err);
/* Makes a workspace `target` with copies of the disks of a workspace at rest, and prepares it. */
int microagent_clone(struct microagent *agent, const char *source, const char *target,
		     json_t **response, struct error *err);

/* --- logs ------------------------------------------------------------------------------------ */

/* Opens the log of the serial console for reading. Returns a descriptor, which the caller closes.
 * ERR_NOT_FOUND if there is no workspace of that name. The log is empty if the workspace was never
 * started. */
int microagent_log_open(struct microagent *agent, const char *name, struct error *err);
/* Returns the states that a workspace went through, oldest first: {"events":[...]}. A new state
 * makes microagent_log_wait() return. */
json_t *microagent_events(struct microagent *agent, const char *name, struct error *err);
/* Sets *running to whether any process of the workspace lives. */
int microagent_is_running(struct microagent *agent, const char *name, bool *running,
			  struct error *err);
/* Waits until the log may have grown, until the workspace's machine has ended or started, or until
 * the descriptor `cancel` is readable (-1: no descriptor). Returns 0 and sets *running to whether
 * any process of the workspace lives. Returns 1 and leaves *running untouched if no process reads
 * from the descriptor `out` any more (-1: not checked). So a program that prints the log to `out`
 * can end when its reader has gone, even if the machine writes nothing. `watch` is a descriptor
 * that microagent_log_watch() made, and that microagent_log_unwatch() closes. */
int microagent_log_watch(struct microagent *agent, const char *name, struct error *err);
void microagent_log_unwatch(int watch);
int microagent_log_wait(struct microagent *agent, const char *name, int watch, int out, int cancel,
			bool *running, struct error *err);

/* --- the time and the memory that a workspace takes ------------------------------------------ */

/* Returns the record of the last start of a workspace:
 * {"accelerator","acceleratorReason","timings":{NAME:NS},"boot"?} as in runtime.json
 * (schema/runtime.json). The timings are marks of CLOCK_MONOTONIC in nanoseconds. The first is
 * "begun"; "vmm" is when the VMM runs, "hello" when the guest has spoken and "ready" when the guest
 * takes commands. ERR_NOT_FOUND if the workspace was never started. */
json_t *microagent_last_start(struct microagent *agent, const char *name, struct error *err);

/* Nanoseconds from the start of the call until the guest's agent is reached, until the program has
 * been started, and until the agent reports the end of the program. */
struct microagent_exec_times {
	uint64_t reached_ns, started_ns, ended_ns;
};
/* Runs one command in a running workspace as microagent_exec() does, over a new connection, and
 * measures the times. The command's output is dropped. Fails with ERR_IO if the exit code of the
 * command is not 0. */
int microagent_time_exec(struct microagent *agent, const char *name,
			 const struct microagent_exec *exec, struct microagent_exec_times *out,
			 struct error *err);

/* Returns the memory of each process of a running workspace, the VMM first:
 * {"processes":[{"name","pid","residentBytes","proportionalBytes","privateBytes"}]}. privateBytes
 * is the memory that no other process has. proportionalBytes divides each page by the number of
 * processes that have it. A process that this process may not inspect has "error" instead of the
 * numbers. ERR_CONFLICT if no process of the workspace lives. */
json_t *microagent_footprint(struct microagent *agent, const char *name, struct error *err);

/* --- the host -------------------------------------------------------------------------------- */

/* Stores the supervisor's answer to the command `host`:
 * {"ok":true,"backend","host":{...},"kernel"?}. */
int microagent_host(struct microagent *agent, json_t **response, struct error *err);
/* Returns the description of the supervisor protocol agent-runtime.v1 (schema/contract.json):
 * states, commands, signals and limits, and what each backend supports according to its supervisor.
 * If this host does not have the supervisor of a backend, the description has the answer that this
 * supervisor gave when this library was built. */
json_t *microagent_contract(struct error *err);
/* Checks the host. Returns {"ok","verdict":"ok"|"degraded"|"failed","host"?,
 * "checks":[{"name","status","detail","remedy"?,"reason"?}]}. "remedy" is a command that solves the
 * problem on the host. A check has "reason", the name of an error_reason, if microagent itself can
 * solve the problem. The "status" of each check is one of the words of "verdict", and "verdict" is
 * the worst status. Fails only if there is no memory. A fault of the host is reported in the
 * result, and is not an error. */
json_t *microagent_doctor(struct microagent *agent, struct error *err);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
