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
	const struct contract_backend *backend; /* backend of new machines */
	void (*wait_fn)(void *data);
	void *wait_data;
	int cancel;	   /* readable: a request to the supervisor is given up; -1: never */
	bool unconfined;   /* set by microagent_unconfined() */
	const int *handed; /* as in struct supervisor_wait */
	size_t nhanded;
	bool keep_quarantined; /* kill and delete are refused for a machine in quarantine */
	/* Ctrl-C does not end a request to the supervisor; the owner of `cancel` decides. */
	bool apart;
};

/* --- backend.c -------------------------------------------------------------------------------- */

/* Returns the backend for machines for which no other backend is asked. Each system has one. */
const struct contract_backend *backend_usual(void);
/* Finds the supervisor like supervisor_find(). ERR_UNSUPPORTED: it does not exist here, since it
 * belongs to another system. */
char *backend_find_supervisor(const struct contract_backend *backend, struct error *err);

/* --- request.c: what is said to the supervisor ----------------------------------------------- */

/* Makes the request {"command","identity","config"}. Takes over config, also if it fails. A
 * workspace that has an event keeps its own backend, and a new workspace gets the handle's backend.
 */
json_t *request_new(const struct microagent *agent, const char *command, const char *name,
		    json_t *config, struct error *err);
/* Returns the path of the supervisor for the request. The caller frees the path. */
char *request_supervisor(const struct microagent *agent, const json_t *request, struct error *err);
/* Functions that return the backend of the workspace if it has one, else the backend of the handle.
 */
const struct contract_backend *request_backend(const struct microagent *agent, const char *name);
const struct contract_backend *request_backend_of(const struct microagent *agent,
						  const struct workspace *ws);
/* Returns the config of commands that only look at records: the state directory alone. */
json_t *request_state_config(const struct microagent *agent, struct error *err);
/* Puts the confinement into the config of a machine: the handle's own setting, or that of the
 * config `as` from which this one is made. */
int request_confine(const struct microagent *agent, json_t *config, const json_t *as,
		    struct error *err);
/* Sends {command, name} with config to the supervisor, and receives the response. Takes over
 * config. A response with ok:false is an error. response may be NULL. */
int request_call(const struct microagent *agent, const char *command, const char *name,
		 json_t *config, json_t **response, struct error *err);

/* Calls the supervisor like request_call(), with more options for it. A NULL ends the options. NULL
 * instead of the list: no options. */
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
	int mark; /* the mark that the workspace is in the making; -1: none */
	/* The machine runs once for its command: an image without an entrypoint still has a
	 * command. */
	bool runs;
};
#define CREATION_NONE                                           \
	{                                                       \
		.dir = {.fd = -1}, .ws = {.fd = -1}, .mark = -1 \
	}
/* Finds kernel and image, and makes <stateDir>/<name> with a clone of the image in it. If it fails,
 * nothing is left. */
int creation_begin(const struct microagent *agent, const char *name,
		   const struct microagent_spec *spec, struct creation *out, struct error *err);
/* Makes an empty <stateDir>/<name>. If it fails, nothing is left. What other makers left in the
 * making is not looked for. */
int creation_empty(const struct microagent *agent, const char *name, struct creation *out,
		   struct error *err);
/* Opens an image and checks that it can be copied: it is ext4, and nobody writes to it while it is
 * open. Returns a descriptor. */
int image_open(const struct cache_image *image, struct error *err);
/* Copies a disk to a new file. If the digest of the source is known, the digest of the copy is
 * known afterwards too. *method is as for path_clone_file_at(). */
int clone_with_digest(int from, int dir, const char *name, const char **method, struct error *err);
/* Returns whether the workspace has a command, from the spec or from the image. If `runs` is set,
 * the image's default arguments alone count as a command. Otherwise they do not: they are often a
 * shell, which ends where nobody types. */
bool creation_has_command(const struct creation *made, const struct microagent_spec *spec);
/* Finds the architecture by the name in a spec; NULL: the host's architecture. */
int spec_architecture(const char *name, enum architecture *out, struct error *err);
/* Returns the full config of the workspace, for prepare and run. */
json_t *creation_config(const struct microagent *agent, const struct creation *made,
			const struct microagent_spec *spec, struct error *err);
/* channels.c. */
/* Returns a member of portForwards for its word on the command line. */
json_t *channels_forward(const char *word, struct error *err);
/* Adds portForwards to the config's network, mediation and vsockListeners. */
int channels_put(json_t *config, const struct microagent_machine *machine, struct error *err);
/* attach.c. */
/* Converts words and puts them into the array target[key]. convert gets each word and its index.
 * Without words there is no array. */
typedef json_t *word_json_fn(const char *word, size_t index, struct error *err);
int words_put(json_t *target, const char *key, const char *const *words, word_json_fn *convert,
	      struct error *err);
/* Returns a member of config.shares for a word that microagent_check_share() accepts. */
json_t *attach_share(const char *word, const char *tag, struct error *err);
/* Replaces the paths in config.shares by paths without links, and has the directories opened
 * through no link (`direct`): a guest that may write to a directory on the way could put a link
 * there later. A path that leads nowhere is kept, and the supervisor says why. */
int attach_settle_shares(json_t *shares, struct error *err);
/* Adds disks, shares, bundles and outputs to the config. */
int attach_put(json_t *config, const struct microagent_spec *spec, struct error *err);
/* archives.c: checks that the archives of a config's bundles can be read. Prepare unpacks the
 * bundles of a recorded config anew, so this check comes before there is anything to undo. */
int archives_check(const json_t *config, struct error *err);
/* Marks the workspace as no longer in the making. The supervisor has recorded it. */
void creation_done(struct creation *made);
/* Ends the making like creation_done(), but the workspace stays marked as in the making as long as
 * the returned descriptor is open: until unfinished_disown() and unfinished_unmark(). */
int creation_done_marked(struct creation *made);
/* Removes the new directory, if nothing lives in it. */
void creation_undo(struct creation *made);
void creation_free(struct creation *made); /* accepts CREATION_NONE */

/* --- unfinished.c: what a killed maker left -------------------------------------------------- */

/* Marks <dir>/<id>, which need not exist yet, as in the making as long as the returned descriptor
 * is open. ERR_CONFLICT: another process is making it now. */
int unfinished_mark(const struct state_dir *dir, const char *id, struct error *err);
/* Removes the mark. A mark that stays is taken for one of a killed maker when its lock is gone. */
int unfinished_unmark(const struct state_dir *dir, const char *id, struct error *err);
/* Sets the second mark, a file in the directory: the directory belongs to its maker and may be
 * removed. */
int unfinished_own(const struct workspace *ws, struct error *err);
void unfinished_disown(const struct workspace *ws);
/* Calls fn for each mark whose maker died. The lock of the mark is held during the call. The mark
 * is removed if fn returns 0. */
typedef int unfinished_fn(const struct state_dir *dir, const char *id, void *data);
void unfinished_each_abandoned(const struct state_dir *dir, unfinished_fn *fn, void *data);
/* Removes the rest of an unfinished directory, unless it has been recorded or does not belong to
 * its maker. Returns 0 if nothing unfinished is left, -1 if the directory still exists or this
 * cannot be told now. */
int unfinished_remove(const struct state_dir *dir, const char *id);
enum unfinished_state { UNFINISHED_NOT, UNFINISHED_UNDER_WAY, UNFINISHED_BROKE_OFF };
/* unfinished_of() tells whether <dir>/<id> belongs to a maker, and whether the maker lives.
 * unfinished_marked() tells this from a mark alone, which may be a mark of any kind. */
enum unfinished_state unfinished_marked(const struct state_dir *dir, const char *mark);
enum unfinished_state unfinished_of(const struct state_dir *dir, const char *id);
/* Removes all directories that were in the making when their makers died. */
void unfinished_sweep(const struct state_dir *dir);

/* --- ext4.c ---------------------------------------------------------------------------------- */

/*
 * Refuses a file that is not a raw ext4 file system, or is shorter than the file system in it
 * (ERR_INVALID, which names path). Looks at a few numbers of the superblock and at nothing else: an
 * image is hostile, and its contents are the guest's business.
 */
int ext4_check(int fd, const char *path, struct error *err);

/* --- kernel.c -------------------------------------------------------------------------------- */

/* Refuses a file that does not begin like a kernel (ERR_INVALID, which names path). */
int kernel_check(const char *path, struct error *err);

/* --- open_workspace.c: a workspace that must be there ---------------------------------------- */

struct open_workspace {
	struct state_dir dir;
	struct workspace ws;
};
/* Opens a workspace that must exist. ERR_NOT_FOUND names the workspace and the state directory. */
int open_workspace_named(const struct microagent *agent, const char *name,
			 struct open_workspace *out, struct error *err);
void open_workspace_close(struct open_workspace *existing); /* accepts a zeroed one */
#define auto_existing __attribute__((cleanup(open_workspace_close)))

/* Returns the config as prepare recorded it, as a new reference. start compares its own config with
 * it. */
json_t *open_workspace_config(const struct open_workspace *existing, struct error *err);
/* Returns -1 with ERR_CONFLICT if something of the workspace is alive, running or in quarantine.
 * The message says what is alive and how to end it. */
int open_workspace_refuse_alive(const struct open_workspace *existing, struct error *err);
/* Returns -1 if the workspace is quarantined. Quarantine is no stopped state: also at rest the disk
 * is left alone until halt, stop or kill. */
int open_workspace_refuse_quarantined(const struct open_workspace *existing, struct error *err);
/* Writes the accelerator that the machine runs on according to runtime.json, as
 * microagent_accelerator() does. */
int open_workspace_accelerator(const struct open_workspace *existing, char out[8],
			       struct error *err);

/* workspace.c: starts a workspace like microagent_start(), with an option for the supervisor; NULL:
 * none. */
int workspace_start_with(struct microagent *agent, const char *option, const char *name,
			 struct error *err);
/* Starts a workspace like workspace_start_with(), with several options. A NULL ends the options. */
int workspace_start_with_options(struct microagent *agent, const char *const *options,
				 const char *name, struct error *err);

/* name.c: makes a random name such as "run-calm-otter-3fa9". */
#define NAME_ROOM 64
int name_random(char out[NAME_ROOM], struct error *err);

#endif
