/* SPDX-License-Identifier: MIT */
/* Functions that only the files of libmicroagent share. */
#ifndef API_API_H
#define API_API_H

#include <jansson.h>
#include <stdbool.h>

#include "channel/supervisor.h"
#include "contract/fields.h"
#include "microagent.h"
#include "store/cache.h"
#include "store/store.h"

struct microagent {
	char *state_path;			/* absolute */
	const struct contract_backend *backend; /* the backend of new machines */
	void (*wait_fn)(void *data);
	void *wait_data;
	int cancel;	   /* when this descriptor is readable, a request to the supervisor is given
			    * up; -1: no descriptor */
	bool unconfined;   /* microagent_unconfined() was called for the handle */
	const int *handed; /* descriptors for the supervisor, as `handed` of struct
			    * supervisor_wait */
	size_t nhanded;
	bool keep_quarantined; /* kill and delete are refused for a machine in quarantine */
	/* Ctrl-C does not end a request to the supervisor: only `cancel` does. */
	bool apart;
};

/* --- backend.c -------------------------------------------------------------------------------- */

/* Returns the default backend of this host's system (Linux, macOS). */
const struct contract_backend *backend_usual(void);
/* Returns the path of the backend's supervisor like supervisor_find(). The caller frees the path.
 * ERR_UNSUPPORTED: this host does not have the supervisor, because the backend belongs to another
 * operating system. */
char *backend_find_supervisor(const struct contract_backend *backend, struct error *err);

/* --- request.c: requests to the supervisor --------------------------------------------------- */

/* Returns the new request {"command","identity","config"}. If `name` is NULL, the request has no
 * identity. If `config` is NULL, the request has no config. Takes over `config`, also on failure.
 * The backend in the request is that of the workspace's last event; for a new workspace it is the
 * backend of the handle. */
json_t *request_new(const struct microagent *agent, const char *command, const char *name,
		    json_t *config, struct error *err);
/* Returns the path of the supervisor for the request. The caller frees the path. */
char *request_supervisor(const struct microagent *agent, const json_t *request, struct error *err);
/* Return the backend that the last event of the workspace names, or the backend of the handle if
 * there is no such workspace or event. */
const struct contract_backend *request_backend(const struct microagent *agent, const char *name);
const struct contract_backend *request_backend_of(const struct microagent *agent,
						  const struct workspace *ws);
/* Returns a new config that has only the state directory, for commands that only read or write
 * records. */
json_t *request_state_config(const struct microagent *agent, struct error *err);
/* Puts the confinement into the config of a machine. If microagent_unconfined() was called for the
 * handle, the confinement is "seccomp". Otherwise, it is the confinement of `as`, the config from
 * which `config` is made. If `as` has no confinement, `config` gets none. `as` may be NULL. */
int request_confine(const struct microagent *agent, json_t *config, const json_t *as,
		    struct error *err);
/* Makes a request by request_new(), sends it to the supervisor, and receives the response. Takes
 * over `config`, also on failure. A response with ok:false is an error. `response` may be NULL. */
int request_call(const struct microagent *agent, const char *command, const char *name,
		 json_t *config, json_t **response, struct error *err);

/* Calls the supervisor like request_call(), with `options` as additional words of the supervisor's
 * command line. `options` ends with NULL, or is NULL. */
int request_call_with(const struct microagent *agent, const char *const *options,
		      const char *command, const char *name, json_t *config, json_t **response,
		      struct error *err);

/* --- creation.c: a workspace's directory and what goes into its config ----------------------- */

/* The kernel and image that were found, and the directory while it is being made. */
struct creation {
	struct cache_kernel kernel;
	struct cache_image image;
	struct state_dir dir;
	struct workspace ws;
	char *name;
	char *rootfs;
	int mark; /* the descriptor of the mark which says that the workspace is unfinished; -1: no
		   * mark */
	/* The machine is made to run one command. If set, the default arguments of an image without
	 * an entrypoint count as its command. */
	bool runs;
};
#define CREATION_NONE                                           \
	{                                                       \
		.dir = {.fd = -1}, .ws = {.fd = -1}, .mark = -1 \
	}
/* Finds the kernel and the image, and makes <stateDir>/<name> with a clone of the image in it. On
 * failure nothing is left. The caller calls creation_free(). */
int creation_begin(const struct microagent *agent, const char *name,
		   const struct microagent_spec *spec, struct creation *out, struct error *err);
/* Makes an empty <stateDir>/<name>. On failure nothing is left. Unlike creation_begin(), does not
 * remove the unfinished directories of other makers. */
int creation_empty(const struct microagent *agent, const char *name, struct creation *out,
		   struct error *err);
/* Opens an image and checks that it can be copied: it must be ext4, and no running machine may
 * write to it. Returns a descriptor. While the descriptor is open, no machine that writes to the
 * image can start. */
int image_open(const struct cache_image *image, struct error *err);
/* Copies a disk to a new file `name` in the directory `dir`. The digest of the source is computed
 * if it is not remembered yet. The copy has the same digest, which is remembered too. *method is as
 * for path_clone_file_at(). */
int clone_with_digest(int from, int dir, const char *name, const char **method, struct error *err);
/* Returns whether the workspace has a command, from the spec or from the image. The image's default
 * arguments alone count as a command only if `runs` is set. Otherwise they do not count, because
 * they are often a shell, and a shell without input ends at once. */
bool creation_has_command(const struct creation *made, const struct microagent_spec *spec);
/* Stores the architecture with the name that a spec has, or the host's architecture if `name` is
 * NULL. ERR_INVALID: no architecture has this name. */
int spec_architecture(const char *name, enum architecture *out, struct error *err);
/* Returns the full config of the workspace, for prepare and run, as a new reference. */
json_t *creation_config(const struct microagent *agent, const struct creation *made,
			const struct microagent_spec *spec, struct error *err);
/* The next two functions are in channels.c. */
/* Returns an element of portForwards for a word that microagent_check_publish() accepts, as a new
 * reference. */
json_t *channels_forward(const char *word, struct error *err);
/* Adds portForwards to the network of the config, and mediation and vsockListeners to the
 * config. */
int channels_put(json_t *config, const struct microagent_machine *machine, struct error *err);
/* The next functions, up to attach_put(), are in attach.c. */
/* Puts an array into target[key]. convert() makes each element from a word and the index of this
 * word. Puts nothing if `words` is NULL or has no word. */
typedef json_t *word_json_fn(const char *word, size_t index, struct error *err);
int words_put(json_t *target, const char *key, const char *const *words, word_json_fn *convert,
	      struct error *err);
/* Returns an element of config.shares for a word that microagent_check_share() accepts, as a new
 * reference. */
json_t *attach_share(const char *word, const char *tag, struct error *err);
/* Replaces each path in config.shares by the path of the same directory without links, and sets
 * `direct`, so that the supervisor opens the directory through no link. Without this step, a guest
 * that may write to a directory of the path could later put a link into this directory. A path that
 * leads nowhere is kept; the supervisor then reports the error. */
int attach_settle_shares(json_t *shares, struct error *err);
/* Returns true if the word shares a directory for a review. */
bool attach_is_review(const char *word);
/* Puts the directories that `words` share for a review into config.bundles. The list may be NULL,
 * and ends with NULL. Other words are skipped. `anyway` is as in struct microagent_machine. */
int attach_reviews(json_t *config, const char *const *words, bool anyway, struct error *err);
/* Adds disks, shares, bundles and outputs to the config. */
int attach_put(json_t *config, const struct microagent_spec *spec, struct error *err);
/* In archives.c: checks that the archives of a config's bundles can be read. A caller checks the
 * archives before it makes anything, because prepare unpacks them again and would fail. */
int archives_check(const json_t *config, struct error *err);
/* Removes the marks which say that the workspace is unfinished. The supervisor must have recorded
 * the workspace before this call. */
void creation_done(struct creation *made);
/* Ends the creation, but leaves the marks. Returns the descriptor of the first mark, which the
 * caller owns. The workspace counts as unfinished until this descriptor is closed, or until the
 * caller calls unfinished_disown() and unfinished_unmark(). */
int creation_done_marked(struct creation *made);
/* Removes the new directory, unless a process of the workspace lives. */
void creation_undo(struct creation *made);
void creation_free(struct creation *made); /* accepts CREATION_NONE */

/* --- unfinished.c: what a killed maker left -------------------------------------------------- */

/* Makes the first mark of <dir>/<id>, which need not exist yet: <dir>/<id> is unfinished. Returns a
 * descriptor of the mark. The maker counts as alive as long as this descriptor is open.
 * ERR_CONFLICT: another process is making <dir>/<id> now. */
int unfinished_mark(const struct state_dir *dir, const char *id, struct error *err);
/* Removes the first mark of <dir>/<id>. The caller must do this before it closes the descriptor of
 * the mark. Otherwise the mark looks like that of a killed maker. */
int unfinished_unmark(const struct state_dir *dir, const char *id, struct error *err);
/* Sets the second mark, a file in the directory of the workspace. This mark says that the maker of
 * the first mark has made the directory, so that it may be removed when the maker has died. */
int unfinished_own(const struct workspace *ws, struct error *err);
/* Removes the second mark, the file in the directory. */
void unfinished_disown(const struct workspace *ws);
/* Calls `fn` for each first mark (unfinished_mark()) in `dir` whose maker has died. The lock of the
 * mark is held while `fn` works. The mark is removed if `fn` returns 0. */
typedef int unfinished_fn(const struct state_dir *dir, const char *id, void *data);
void unfinished_each_abandoned(const struct state_dir *dir, unfinished_fn *fn, void *data);
/* Removes an unfinished directory. A directory without the second mark is removed only if it is
 * empty, and a recorded workspace is kept. Returns 0 if nothing unfinished is left. Returns -1 if
 * the directory could not be removed, or if the function cannot find out now whether the directory
 * is unfinished. */
int unfinished_remove(const struct state_dir *dir, const char *id);
/* The states of a thing that may be unfinished. In this order: the thing is finished or does not
 * exist; its maker is at work; its maker has died before the end of its work. */
enum unfinished_state { UNFINISHED_NOT, UNFINISHED_UNDER_WAY, UNFINISHED_BROKE_OFF };
/* unfinished_of() returns the state of the directory <dir>/<id>, by its two marks.
 * unfinished_marked() looks only at the first mark, which may also stand for a thing that is not a
 * directory in `dir`. */
enum unfinished_state unfinished_marked(const struct state_dir *dir, const char *mark);
enum unfinished_state unfinished_of(const struct state_dir *dir, const char *id);
/* Removes all directories that were unfinished when their makers died. */
void unfinished_sweep(const struct state_dir *dir);

/* --- ext4.c ---------------------------------------------------------------------------------- */

/*
 * Checks that a file is a raw ext4 file system, and is not shorter than this file system. Otherwise
 * fails with ERR_INVALID, and the message names `path`. Reads only a few numbers of the superblock:
 * an image may be hostile, and its contents matter only to the guest.
 */
int ext4_check(int fd, const char *path, struct error *err);

/* --- kernel.c -------------------------------------------------------------------------------- */

/* Checks that a file begins like a kernel. Otherwise fails with ERR_INVALID, and the message names
 * `path`. */
int kernel_check(const char *path, struct error *err);

/* --- open_workspace.c: a workspace that must be there ---------------------------------------- */

struct open_workspace {
	struct state_dir dir;
	struct workspace ws;
};
/* Opens a workspace that must exist. ERR_NOT_FOUND names the workspace and the state directory. */
int open_workspace_named(const struct microagent *agent, const char *name,
			 struct open_workspace *out, struct error *err);
void open_workspace_close(struct open_workspace *existing); /* accepts a zeroed struct */
#define auto_existing __attribute__((cleanup(open_workspace_close)))

/* Returns the config that prepare has recorded, as a new reference. The command `start` of the
 * supervisor compares the config of its request with this record. */
json_t *open_workspace_config(const struct open_workspace *existing, struct error *err);
/* Sets ERR_CONFLICT for a workspace that has a living process. The message says whether the
 * workspace is running or quarantined. Always returns -1. The caller must have found out before
 * that a process lives. */
int open_workspace_refuse_alive(const struct open_workspace *existing, struct error *err);
/* Returns -1 with ERR_CONFLICT if the workspace is quarantined, and also -1 if its state cannot be
 * read. A quarantined workspace whose machine has ended is refused too, because its disk must not
 * be changed before a halt, stop or kill. */
int open_workspace_refuse_quarantined(const struct open_workspace *existing, struct error *err);
/* Stores the accelerator of the machine according to runtime.json, as microagent_accelerator()
 * does. */
int open_workspace_accelerator(const struct open_workspace *existing, char out[8],
			       struct error *err);

/* In workspace.c: starts a workspace like microagent_start(), with an option for the supervisor.
 * `option` may be NULL. */
int workspace_start_with(struct microagent *agent, const char *option, const char *name,
			 struct error *err);
/* Starts a workspace like workspace_start_with(), with several options. `options` ends with
 * NULL. */
int workspace_start_with_options(struct microagent *agent, const char *const *options,
				 const char *name, struct error *err);

/* In name.c: makes a random name such as "run-calm-otter-3fa9". */
#define NAME_ROOM 64
int name_random(char out[NAME_ROOM], struct error *err);

#endif
