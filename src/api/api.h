/* SPDX-License-Identifier: MIT */
/* Between the files of libmicroagent. */
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
	const struct contract_backend *backend; /* of what is made */
	void (*wait_fn)(void *data);
	void *wait_data;
	int cancel;	   /* readable: what the supervisor is asked is given up; -1: never */
	bool unconfined;   /* as microagent_unconfined() says */
	const int *handed; /* as of struct supervisor_wait */
	size_t nhanded;
	bool keep_quarantined; /* kill and delete are refused of what is in quarantine */
	bool apart; /* what it is asked is not ended by Ctrl-C, which is for who uses cancel */
};

/* --- backend.c -------------------------------------------------------------------------------- */

/* What makes machines for which no other one is asked: each system has one. */
const struct contract_backend *backend_usual(void);
/* As supervisor_find(). ERR_UNSUPPORTED: there is none, and it would be another system's. */
char *backend_find_supervisor(const struct contract_backend *backend, struct error *err);

/* --- request.c: what is said to the supervisor ----------------------------------------------- */

/* {"command","identity","config"}; config is stolen, also on failure. What has an event is its
 * backend's, what is made now the handle's. */
json_t *request_new(const struct microagent *agent, const char *command, const char *name,
		    json_t *config, struct error *err);
/* The path of the supervisor that it is for. */
char *request_supervisor(const struct microagent *agent, const json_t *request, struct error *err);
/* Of a workspace that has one; else the handle's. */
const struct contract_backend *request_backend(const struct microagent *agent, const char *name);
const struct contract_backend *request_backend_of(const struct microagent *agent,
						  const struct workspace *ws);
/* The config of commands that look at what is recorded: the state directory alone. */
json_t *request_state_config(const struct microagent *agent, struct error *err);
/* The handle's own word into the config of a machine, or that of the config it is made after. */
int request_confine(const struct microagent *agent, json_t *config, const json_t *as,
		    struct error *err);
/* Sends {command, name} with config (stolen) and takes the answer; one with ok:false is an error.
 * response may be NULL. */
int request_call(const struct microagent *agent, const char *command, const char *name,
		 json_t *config, json_t **response, struct error *err);

/* The same with options of the supervisor's, up to NULL; NULL: none. */
int request_call_with(const struct microagent *agent, const char *const *options,
		      const char *command, const char *name, json_t *config, json_t **response,
		      struct error *err);

/* --- creation.c: a workspace's directory and what goes into its config ----------------------- */

/* Kernel and image as found, and the directory while it is being made. */
struct creation {
	struct cache_kernel kernel;
	struct cache_image image;
	struct state_dir dir;
	struct workspace ws;
	char *name;
	char *rootfs;
	int mark;  /* that it is in the making; -1: none */
	bool runs; /* once, for its command: an image that names no entrypoint still has one */
};
#define CREATION_NONE                                           \
	{                                                       \
		.dir = {.fd = -1}, .ws = {.fd = -1}, .mark = -1 \
	}
/* Finds kernel and image, makes <stateDir>/<name> with the image's clone in it. On failure nothing
 * is left. */
int creation_begin(const struct microagent *agent, const char *name,
		   const struct microagent_spec *spec, struct creation *out, struct error *err);
/* Makes <stateDir>/<name> with nothing in it. Like creation_begin(), on failure nothing is left.
 * What others left in the making is not looked for. */
int creation_empty(const struct microagent *agent, const char *name, struct creation *out,
		   struct error *err);
/* An image that can be copied: ext4, and nobody writes to it while it is open. */
int image_open(const struct cache_image *image, struct error *err);
/* Copies a disk to a new file; where the source's digest is known, the copy's is too. *method as of
 * path_clone_file_at(). */
int clone_with_digest(int from, int dir, const char *name, const char **method, struct error *err);
/* Whether the workspace has a command, of spec's or of the image's. An image's default arguments
 * alone are one where `runs` is set: they are often a shell, which ends where nobody types. */
bool creation_has_command(const struct creation *made, const struct microagent_spec *spec);
/* By the name that a spec has for it; NULL: the host's. */
int spec_architecture(const char *name, enum architecture *out, struct error *err);
/* The full config of the workspace, for prepare and run. */
json_t *creation_config(const struct microagent *agent, const struct creation *made,
			const struct microagent_spec *spec, struct error *err);
/* channels.c. */
/* One of portForwards by its word. */
json_t *channels_forward(const char *word, struct error *err);
/* Adds portForwards to the config's network, mediation and vsockListeners. */
int channels_put(json_t *config, const struct microagent_machine *machine, struct error *err);
/* attach.c. */
/* Words into an array target[key], each by convert, which is told its place; no words, no array. */
typedef json_t *word_json_fn(const char *word, size_t index, struct error *err);
int words_put(json_t *target, const char *key, const char *const *words, word_json_fn *convert,
	      struct error *err);
/* Adds disks, shares, bundles and outputs to the config. */
/* A member of config.shares, of a word that microagent_check_share() lets pass. */
json_t *attach_share(const char *word, const char *tag, struct error *err);
/* Names the directories of config.shares by their paths without links, and has them opened by no link
 * (`direct`): a guest that may write to a directory on the way could put a link there later. A path
 * that leads nowhere stays, and the supervisor says why. */
int attach_settle_shares(json_t *shares, struct error *err);
int attach_put(json_t *config, const struct microagent_spec *spec, struct error *err);
/* archives.c: prepare unpacks the bundles of a recorded config anew; whether their archives can be
 * read is looked at before there is anything to undo. */
int archives_check(const json_t *config, struct error *err);
/* The supervisor has recorded the workspace: it is no longer in the making. */
void creation_done(struct creation *made);
/* The same, but it stays marked as in the making, for as long as the returned descriptor is open:
 * until unfinished_disown() and unfinished_unmark(). */
int creation_done_marked(struct creation *made);
/* Removes the directory again, if nothing lives in it. */
void creation_undo(struct creation *made);
void creation_free(struct creation *made); /* accepts CREATION_NONE */

/* --- unfinished.c: what a killed maker left -------------------------------------------------- */

/* Marks <dir>/<id>, which need not be there yet, as in the making for as long as the returned
 * descriptor is open. ERR_CONFLICT: another process makes it just now. */
int unfinished_mark(const struct state_dir *dir, const char *id, struct error *err);
/* One that stays is taken for a killed maker's when its lock has gone. */
int unfinished_unmark(const struct state_dir *dir, const char *id, struct error *err);
/* The second mark, in the directory: it is its maker's, and may be removed. */
int unfinished_own(const struct workspace *ws, struct error *err);
void unfinished_disown(const struct workspace *ws);
/* Calls fn for each whose maker died, holding its mark, which goes when fn returns 0. */
typedef int unfinished_fn(const struct state_dir *dir, const char *id, void *data);
void unfinished_each_abandoned(const struct state_dir *dir, unfinished_fn *fn, void *data);
/* Removes what is there of one, unless it has been recorded or is not its maker's. -1: it is still
 * there, or that cannot be told now. */
int unfinished_remove(const struct state_dir *dir, const char *id);
enum unfinished_state { UNFINISHED_NOT, UNFINISHED_UNDER_WAY, UNFINISHED_BROKE_OFF };
/* Whether <dir>/<id> belongs to a maker, and whether that one lives. */
/* What a mark alone says, of whatever kind. */
enum unfinished_state unfinished_marked(const struct state_dir *dir, const char *mark);
enum unfinished_state unfinished_of(const struct state_dir *dir, const char *id);
/* Removes what was in the making when its maker died. */
void unfinished_sweep(const struct state_dir *dir);

/* --- ext4.c ---------------------------------------------------------------------------------- */

/*
 * Refuses (ERR_INVALID, naming path) a file that is not a raw ext4 file system, or is shorter than
 * the file system in it. Looks at a few numbers of the superblock and at nothing else: an image is
 * hostile, and its contents are the guest's business.
 */
int ext4_check(int fd, const char *path, struct error *err);

/* --- kernel.c -------------------------------------------------------------------------------- */

/* Refuses (ERR_INVALID, naming path) a file that does not begin as a kernel does. */
int kernel_check(const char *path, struct error *err);

/* --- open_workspace.c: a workspace that must be there ---------------------------------------- */

struct open_workspace {
	struct state_dir dir;
	struct workspace ws;
};
/* ERR_NOT_FOUND names the workspace and the state directory. */
int open_workspace_named(const struct microagent *agent, const char *name,
			 struct open_workspace *out, struct error *err);
void open_workspace_close(struct open_workspace *existing); /* accepts a zeroed one */
#define auto_existing __attribute__((cleanup(open_workspace_close)))

/* The config as prepare recorded it, which is what start compares its own with. New reference. */
json_t *open_workspace_config(const struct open_workspace *existing, struct error *err);
/* -1: ERR_CONFLICT with what is alive there, running or in quarantine, and how to end it. */
int open_workspace_refuse_alive(const struct open_workspace *existing, struct error *err);
/* -1: it is quarantined, which is no stopped state: also at rest its disk is left alone until halt,
 * stop or kill. */
int open_workspace_refuse_quarantined(const struct open_workspace *existing, struct error *err);
/* What runtime.json says the machine runs on, as microagent_accelerator(). */
int open_workspace_accelerator(const struct open_workspace *existing, char out[8],
			       struct error *err);

/* workspace.c: microagent_start() with an option of the supervisor's; NULL: none. */
int workspace_start_with(struct microagent *agent, const char *option, const char *name,
			 struct error *err);
/* The same with several, up to NULL. */
int workspace_start_with_options(struct microagent *agent, const char *const *options,
				 const char *name, struct error *err);

/* name.c: "run-calm-otter-3fa9". */
#define NAME_ROOM 64
int name_random(char out[NAME_ROOM], struct error *err);

#endif
