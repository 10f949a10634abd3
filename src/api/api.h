/* SPDX-License-Identifier: MIT */
/* Declares the functions that only the files of libmicroagent use. */
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
	int cancel;	   /* a descriptor: when it is readable, a request to the supervisor is
			    * cancelled; -1: no descriptor */
	bool unconfined;   /* microagent_unconfined() was called for the handle */
	const int *handed; /* descriptors that the supervisor inherits, as in the member `handed` of
			    * struct supervisor_wait */
	size_t nhanded;
	bool keep_quarantined; /* the commands kill and delete are refused for a machine in
			        * quarantine */
	/* True if Ctrl-C does not cancel a request to the supervisor, so that only `cancel`
	 * does. */
	bool apart;
};

/* --- backend.c -------------------------------------------------------------------------------- */

/* Returns the default backend for the operating system of this host (Linux or macOS). */
const struct contract_backend *backend_usual(void);
/* Returns the path of the backend's supervisor, as supervisor_find() does. The caller frees the
 * path. ERR_UNSUPPORTED: this host does not have the supervisor, because the backend belongs to
 * another operating system. */
char *backend_find_supervisor(const struct contract_backend *backend, struct error *err);

/* --- request.c: requests to the supervisor --------------------------------------------------- */

/* Returns the new request {"command","identity","config"}. If `name` is NULL, the request has no
 * identity. If `config` is NULL, the request has no config. Releases `config`, also on failure. The
 * backend in the request is that of the workspace's last event; for a new workspace it is the
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
/* Returns a new config that has only the member stateDir. Such a config is enough for commands that
 * only read or write records. */
json_t *request_state_config(const struct microagent *agent, struct error *err);
/* Puts the confinement into the config of a machine. If microagent_unconfined() was called for the
 * handle, the confinement is "seccomp". Otherwise, the confinement is that of `as`, the config from
 * which `config` was made. If `as` is NULL or has no confinement, `config` gets none. */
int request_confine(const struct microagent *agent, json_t *config, const json_t *as,
		    struct error *err);
/* Makes a request by request_new(), sends it to the supervisor, and receives the response. Releases
 * `config`, also on failure. If the response has ok:false, fails with its error. `response` may be
 * NULL; otherwise the caller releases *response. */
int request_call(const struct microagent *agent, const char *command, const char *name,
		 json_t *config, json_t **response, struct error *err);

/* Does what request_call() does. `options` are additional words for the supervisor's command line.
 * `options` ends with NULL, or is NULL. */
int request_call_with(const struct microagent *agent, const char *const *options,
		      const char *command, const char *name, json_t *config, json_t **response,
		      struct error *err);

/* --- creation.c: a workspace's directory and config ------------------------------------------ */

/* A workspace that is being made: the kernel and image that were found, and the directory. */
struct creation {
	struct cache_kernel kernel;
	struct cache_image image;
	struct state_dir dir;
	struct workspace ws;
	char *name;
	char *rootfs;
	int mark; /* descriptor of the mark that says that the workspace is unfinished; -1: no
		   * mark */
	/* True if the machine is made to run one command. Then the default arguments of an image
	 * without an entrypoint count as this command. */
	bool runs;
};
#define CREATION_NONE                                           \
	{                                                       \
		.dir = {.fd = -1}, .ws = {.fd = -1}, .mark = -1 \
	}
/* Finds the kernel and the image, and makes <stateDir>/<name> with a clone of the image in it. On
 * failure, nothing of the workspace is left. The caller calls creation_free() in both cases. */
int creation_begin(const struct microagent *agent, const char *name,
		   const struct microagent_spec *spec, struct creation *out, struct error *err);
/* Makes an empty <stateDir>/<name>. On failure, nothing of the workspace is left. Unlike
 * creation_begin(), does not remove directories that killed processes have left unfinished. */
int creation_empty(const struct microagent *agent, const char *name, struct creation *out,
		   struct error *err);
/* Opens an image and checks that it can be copied: it must be ext4, and no running machine may
 * write to it. Returns a descriptor, which the caller closes. While the descriptor is open, no
 * machine that writes to the image can start. */
int image_open(const struct cache_image *image, struct error *err);
/* Copies a disk to a new file `name` in the directory `dir`. The digest of the source is computed
 * if it is not remembered yet. The digest is remembered for the copy too. *method is set as by
 * path_clone_file_at(), and `method` may be NULL. */
int clone_with_digest(int from, int dir, const char *name, const char **method, struct error *err);
/* Returns true if the workspace has a command, from the spec or from the image. The image's default
 * arguments alone count as a command only if `runs` is set. Otherwise the default arguments do not
 * count, because they are often a shell, and a shell without input ends at once. */
bool creation_has_command(const struct creation *made, const struct microagent_spec *spec);
/* Sets *out to the architecture with the name `name`, or to the host's architecture if `name` is
 * NULL. ERR_INVALID: no architecture has this name. */
int spec_architecture(const char *name, enum architecture *out, struct error *err);
/* Returns the full config of the workspace, for the commands prepare and run, as a new
 * reference. */
json_t *creation_config(const struct microagent *agent, const struct creation *made,
			const struct microagent_spec *spec, struct error *err);
/* The next two functions are defined in channels.c. */
/* Returns an element of portForwards for a word that microagent_check_publish() accepts, as a new
 * reference. */
json_t *channels_forward(const char *word, struct error *err);
/* Adds portForwards to the network of the config, and mediation and vsockListeners to the
 * config. */
int channels_put(json_t *config, const struct microagent_machine *machine, struct error *err);
/* The next functions, up to attach_put(), are defined in attach.c. */
/* Puts an array into target[key]. `convert` makes each element of the array from a word and the
 * word's index. Puts nothing if `words` is NULL or empty. */
typedef json_t *word_json_fn(const char *word, size_t index, struct error *err);
int words_put(json_t *target, const char *key, const char *const *words, word_json_fn *convert,
	      struct error *err);
/* Returns an element of config.shares for a word that microagent_check_share() accepts, as a new
 * reference. */
json_t *attach_share(const char *word, const char *tag, struct error *err);
/* Replaces each path in config.shares by the path of the same directory without links, and sets
 * `direct`, so that the supervisor opens the directory through no link. Without this step, a guest
 * that may write to a directory of the path could later put a link into this directory. A path that
 * does not exist is kept, and the supervisor later reports the error. */
int attach_settle_shares(json_t *shares, struct error *err);
/* Puts the directories that `words` share for a review into config.bundles. The list may be NULL,
 * and ends with NULL. Other words are skipped. `anyway` is as in struct microagent_machine. */
int attach_reviews(json_t *config, const char *const *words, bool anyway, struct error *err);
/* Adds disks, shares, bundles and outputs to the config. */
int attach_put(json_t *config, const struct microagent_spec *spec, struct error *err);
/* Checks that the archives of a config's bundles can be read. A caller checks them before it makes
 * anything, because otherwise the command prepare, which unpacks them, would fail later. Defined in
 * archives.c. */
int archives_check(const json_t *config, struct error *err);
/* The options of the command prepare with which it keeps the reviewed directories of the workspace:
 * what the guest has changed belongs to the images that the workspace has. Defined in
 * workspace.c. */
extern const char *const prepare_keeping[];
/* Does what microagent_prepare() does, but does not check that the files of reviewed directories are
 * those that were recorded. The caller has just put other files there. Defined in workspace.c. */
int workspace_prepare_anew(struct microagent *agent, const char *name, struct error *err);
/* Prepares the workspace again, and takes its reviewed directories anew. Defined in workspace.c. */
int workspace_prepare_taking(struct microagent *agent, const char *name, struct error *err);
/* The next functions, up to reviews_move(), are defined in review_copy.c. */
/* Describes the reviewed directories of a prepared workspace as [{"name","upper","sha256",
 * "diskSHA256"}], as a new reference. The digests of the list and of the image are those that prepare
 * recorded. The array is empty if the workspace has no reviewed directory. */
json_t *reviews_describe(const struct workspace *ws, struct error *err);
/* Requires that the files of the described directories in the directory `dir` have the described
 * digests. A file that is missing is not compared. */
int reviews_require(const json_t *reviews, int dir, struct error *err);
/* Copies the files of the described directories from the directory `from` to the directory `to`,
 * which must not have them. The copies must have the described digests. */
int reviews_copy(const json_t *reviews, int from, int to, enum store_sync sync, struct error *err);
/* Moves the files that reviews_copy() has made from the directory `from` to the directory `to`, in
 * place of earlier ones. */
int reviews_move(const json_t *reviews, int from, int to, struct error *err);
/* Removes the marks which say that the workspace is unfinished. The supervisor must have recorded
 * the workspace before this call. */
void creation_done(struct creation *made);
/* Ends the creation, but leaves the marks. Returns the descriptor of the first mark, which the
 * caller closes. The workspace counts as unfinished until this descriptor is closed, or until the
 * caller calls unfinished_disown() and unfinished_unmark(). */
int creation_done_marked(struct creation *made);
/* Removes the new directory, unless a process of the workspace lives. */
void creation_undo(struct creation *made);
void creation_free(struct creation *made); /* accepts CREATION_NONE */

/* --- unfinished.c: workspaces whose making was interrupted ----------------------------------- */

/* Makes the first mark of <dir>/<id>, which says that <dir>/<id> is unfinished. <dir>/<id> need not
 * exist yet. Returns a descriptor of the mark, which the caller closes. As long as the descriptor
 * is open, <dir>/<id> counts as being made. ERR_CONFLICT: another process is making <dir>/<id>
 * now. */
int unfinished_mark(const struct state_dir *dir, const char *id, struct error *err);
/* Removes the first mark of <dir>/<id>. The caller must do this before it closes the descriptor of
 * the mark. Otherwise a sweep could take the mark for that of a killed process. */
int unfinished_unmark(const struct state_dir *dir, const char *id, struct error *err);
/* Sets the second mark, a file in the directory of the workspace. This mark says that the process
 * with the first mark has made this directory, so that the directory may be removed if this process
 * dies. */
int unfinished_own(const struct workspace *ws, struct error *err);
/* Removes the second mark, the file in the directory. */
void unfinished_disown(const struct workspace *ws);
/* Calls `fn` for each first mark (unfinished_mark()) in `dir` that no living process holds. While
 * `fn` runs, the mark is locked. The mark is removed if `fn` returns 0. */
typedef int unfinished_fn(const struct state_dir *dir, const char *id, void *data);
void unfinished_each_abandoned(const struct state_dir *dir, unfinished_fn *fn, void *data);
/* Removes an unfinished directory. A directory without the second mark is removed only if it is
 * empty. A workspace with a record is kept. Returns 0 if no unfinished directory is left. Returns
 * -1 if the directory could not be removed, or if it is unknown whether the directory is
 * unfinished. */
int unfinished_remove(const struct state_dir *dir, const char *id);
/* The states of a thing that may be unfinished. UNFINISHED_NOT: it is finished or does not exist.
 * UNFINISHED_UNDER_WAY: a living process is making it. UNFINISHED_BROKE_OFF: the process that was
 * making it has died. */
enum unfinished_state { UNFINISHED_NOT, UNFINISHED_UNDER_WAY, UNFINISHED_BROKE_OFF };
/* unfinished_of() returns the state of the directory <dir>/<id>, by its two marks.
 * unfinished_marked() returns the state by the first mark alone. `mark` may also be the name of a
 * mark that is not for a directory in `dir`. */
enum unfinished_state unfinished_marked(const struct state_dir *dir, const char *mark);
enum unfinished_state unfinished_of(const struct state_dir *dir, const char *id);
/* Removes all directories in `dir` whose making was interrupted by the death of a process. */
void unfinished_sweep(const struct state_dir *dir);

/* --- ext4.c ---------------------------------------------------------------------------------- */

/*
 * Checks that a file is a raw ext4 file system, and is not shorter than this file system. Otherwise
 * fails with ERR_INVALID, and the message names `path`. Reads only a few numbers of the superblock,
 * because an image may be hostile, and only the guest uses its contents.
 */
int ext4_check(int fd, const char *path, struct error *err);

/* --- kernel.c -------------------------------------------------------------------------------- */

/* Checks that a file begins like a kernel. Otherwise fails with ERR_INVALID, and the message names
 * `path`. */
int kernel_check(const char *path, struct error *err);

/* --- open_workspace.c: an existing workspace ------------------------------------------------- */

struct open_workspace {
	struct state_dir dir;
	struct workspace ws;
};
/* Opens a workspace that must exist. ERR_NOT_FOUND names the workspace and the state directory. */
int open_workspace_named(const struct microagent *agent, const char *name,
			 struct open_workspace *out, struct error *err);
void open_workspace_close(struct open_workspace *existing); /* accepts a zeroed struct */
#define auto_existing __attribute__((cleanup(open_workspace_close)))

/* Returns the config in workspace.json, as a new reference. The supervisor's command `start`
 * compares the config of its request with the recorded one. */
json_t *open_workspace_config(const struct open_workspace *existing, struct error *err);
/* Sets ERR_CONFLICT for a workspace that has a living process. The message says whether the
 * workspace is running or quarantined. Always returns -1. Only a caller that has found a living
 * process calls this function. */
int open_workspace_refuse_alive(const struct open_workspace *existing, struct error *err);
/* Returns -1 with ERR_CONFLICT if the workspace is quarantined, and also -1 if its state cannot be
 * read. Also returns -1 if the machine of the quarantined workspace has ended, because the disk of
 * a quarantined workspace must not be changed before a halt, stop or kill ends the quarantine. */
int open_workspace_refuse_quarantined(const struct open_workspace *existing, struct error *err);
/* Writes the machine's accelerator, which is in runtime.json, to `out`, as microagent_accelerator()
 * does. */
int open_workspace_accelerator(const struct open_workspace *existing, char out[8],
			       struct error *err);

/* Starts a workspace as microagent_start() does. `option` is an additional word for the
 * supervisor's command line, or NULL. Defined in workspace.c. */
int workspace_start_with(struct microagent *agent, const char *option, const char *name,
			 struct error *err);
/* Does what workspace_start_with() does, with several options. `options` ends with NULL. */
int workspace_start_with_options(struct microagent *agent, const char *const *options,
				 const char *name, struct error *err);

/* Makes a random name such as "run-calm-otter-3fa9". Defined in name.c. */
#define NAME_ROOM 64
int name_random(char out[NAME_ROOM], struct error *err);

#endif
