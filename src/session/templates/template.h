/* SPDX-License-Identifier: MIT */
/*
 * The template of a base: one machine of it, saved, from which its sessions are restored. It is
 * <bundle>/template:
 *
 *   template.json  what it was made with, with digests (schema/template.json)
 *   ram, state     the machine's memory and its devices, which the supervisor restores
 *   disk.qcow2     the layer over the base's disk that belongs to them: a session has a copy of it
 *   warm.log       what was said meanwhile
 *   siblings*      of the supervisors that restore from it
 *
 * Whoever makes or drops one has <bundle>/.warming with an exclusive flock on it, which goes with
 * its process: what is in one that nobody holds is swept. The template gets its name by a rename.
 */
#ifndef SESSION_TEMPLATE_H
#define SESSION_TEMPLATE_H

#include <jansson.h>
#include <stdbool.h>

#include "session/bases/base.h"
#include "store/digests.h"

#define TEMPLATE_DIR "template"
#define TEMPLATE_RECORD "template.json"
#define TEMPLATE_RAM "ram"
#define TEMPLATE_STATE "state"
#define TEMPLATE_DISK "disk.qcow2"
#define TEMPLATE_LOG "warm.log"
#define TEMPLATE_SIBLINGS "siblings"
#define TEMPLATE_FORMAT 1
#define TEMPLATE_WARMING ".warming"

struct base_template {
	int fd; /* of the directory */
	char *path;
	json_t *record;		  /* template.json; its shape is checked */
	char sha256[DIGEST_TEXT]; /* of that */
};
#define BASE_TEMPLATE_NONE \
	{                  \
		.fd = -1   \
	}
/* 1: the base has one. 0: it has none. -1: it has one that is damaged; err says how. */
int base_template_open(const struct base *base, struct base_template *out, struct error *err);
void base_template_close(struct base_template *of); /* accepts BASE_TEMPLATE_NONE */
#define auto_template __attribute__((cleanup(base_template_close)))
/* A descriptor of its disk, which is what was saved. */
int base_template_disk(const struct base_template *of, struct error *err);
/* As `base show` tells of it: {createdAt, run?, memoryMiB, cpuCount, bytes, residentBytes, sha256,
 * facts}, or {error}. NULL with err untouched: the base has none. */
json_t *base_template_told(const struct base *base);

/* --- base_list.c ---------------------------------------------------------------------------------
 */

/* As `base show` tells of it: its metadata, which is taken from it, with its path and its template.
 */
json_t *base_tell(struct base *base, struct error *err);

/* --- template_place.c: who is at work on one ---------------------------------------------------
 */

/* The base's place for making or dropping its template, empty and ours until warming_end(): a
 * descriptor. ERR_CONFLICT: somebody else is at it. */
int warming_begin(const struct base *base, struct error *err);
/* Removes it with what is in it. */
void warming_end(const struct base *base, int warming);
/* What was left by who died over it is removed, of every base; the name of each base is appended
 * to removed, which may be NULL. */
void templates_sweep(const struct microagent *agent, json_t *removed);

#endif
