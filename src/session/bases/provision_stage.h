/* SPDX-License-Identifier: MIT */
/* The stage: copies of the script and the files of a provisioning. The copies are made first. Only
 * the copies are hashed and used, so the recorded digests belong to the files that were used. */
#ifndef SESSION_PROVISION_STAGE_H
#define SESSION_PROVISION_STAGE_H

#include <jansson.h>
#include <stdbool.h>

#include "microagent_session.h"

/* The values are names in the directory of the stage. */
#define STAGE_SCRIPT "script"
#define STAGE_FILES "files"

struct provision_stage {
	json_t *script;	  /* {"name","sha256"}; NULL: there is none */
	json_t *files;	  /* [{"name","sha256","bytes"}] */
	bool has_program; /* the script begins with "#!" */
	int64_t bytes;	  /* total size of the script and the files */
};

/* Copies the script and the files. ERR_INVALID: a file is no regular file, or two files have the
 * same name. The message names the file that is no regular file, or the second file of the same
 * name. */
int provision_stage_copy(int dir, const struct microagent_base_spec *spec,
			 struct provision_stage *out, struct error *err);
void provision_stage_free(struct provision_stage *stage); /* accepts a zeroed one */

#endif
