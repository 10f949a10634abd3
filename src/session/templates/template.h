/* SPDX-License-Identifier: MIT */
/*
 * The template of a base: a saved machine of the base, from which the base's sessions are restored.
 * The template is in <bundle>/template:
 *
 *   template.json  what the template was made with, with digests (schema/template.json)
 *   ram, state     the memory and the devices of the machine, which the supervisor restores
 *   disk.qcow2     the layer over the base's disk at the same moment; a session gets a copy of it
 *   warm.log       the log of making the template
 *   siblings*      files of the supervisors that restore machines from the template
 *
 * A process that makes or drops a template makes the directory <bundle>/.warming, and holds an
 * exclusive flock on it. The kernel releases the flock when the process exits, so a sweep removes a
 * directory .warming without a flock. A template is made in .warming, and is then renamed to
 * <bundle>/template.
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
	int fd; /* descriptor of the template's directory */
	char *path;
	json_t *record;		  /* the contents of template.json, whose members were checked */
	char sha256[DIGEST_TEXT]; /* digest of the file template.json */
};
#define BASE_TEMPLATE_NONE \
	{                  \
		.fd = -1   \
	}
/* Opens the template of a base. Returns 1 if the base has a template, 0 if it has none, or -1 with
 * err set if the template is damaged. */
int base_template_open(const struct base *base, struct base_template *out, struct error *err);
void base_template_close(struct base_template *of); /* accepts BASE_TEMPLATE_NONE */
#define auto_template __attribute__((cleanup(base_template_close)))
/* Checks that the template's disk has the recorded digest. Returns a descriptor of the disk, which
 * the caller closes, or -1 with err set. */
int base_template_disk(const struct base_template *of, struct error *err);
/* Returns the description of the template for the answer of `base show`: {createdAt, run?,
 * memoryMiB, cpuCount, bytes, residentBytes, sha256, facts}, or {error}. The caller releases it.
 * Returns NULL if the base has no template. */
json_t *base_template_told(const struct base *base);

/* --- base_list.c ---------------------------------------------------------------------------------
 */

/* Returns the answer of `base show` for a base: its metadata with its path and its template. Takes
 * the metadata from *base, which has none afterwards. The caller releases the result. */
json_t *base_tell(struct base *base, struct error *err);

/* --- template_place.c: the directory of a new template ---------------------------------------- */

/* Makes and locks the directory .warming of the base, for making or dropping the base's template.
 * The directory is empty, and no other process uses it until warming_end(). Returns the directory's
 * descriptor, or -1 with err set. ERR_CONFLICT: another process makes or drops the template. */
int warming_begin(const struct base *base, struct error *err);
/* Removes the directory .warming and everything in it. */
void warming_end(const struct base *base, int warming);
/* Removes the directories .warming of processes that have died, in all bases. Appends the names of
 * these bases to `removed`, which may be NULL. */
void templates_sweep(const struct microagent *agent, json_t *removed);

#endif
