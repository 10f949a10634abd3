/* SPDX-License-Identifier: MIT */
/* Makes the stage, a directory with copies of the script and the files for a provisioning. The
 * digests are computed from the copies, and only the copies are used. So the recorded digests are
 * those of the files that the guest got, even if a user changes the originals meanwhile. */
#ifndef SESSION_PROVISION_STAGE_H
#define SESSION_PROVISION_STAGE_H

#include <jansson.h>
#include <stdbool.h>

#include "microagent_session.h"

/* The names of the script and of the files' directory in the directory of the stage. */
#define STAGE_SCRIPT "script"
#define STAGE_FILES "files"

struct provision_stage {
	json_t *script;	  /* object {"name","sha256"} about the script; NULL: the spec has no
			   * script */
	json_t *files;	  /* [{"name","sha256","bytes"}] */
	bool has_program; /* the script's first line begins with "#!" */
	int64_t bytes;	  /* total size of the script and the files in bytes */
};

/* Copies the script and the files into the stage. ERR_INVALID: a file is not a regular file, or two
 * files have the same name. The message names the file that is not regular, or the second file with
 * the same name. */
int provision_stage_copy(int dir, const struct microagent_base_spec *spec,
			 struct provision_stage *out, struct error *err);
void provision_stage_free(struct provision_stage *stage); /* accepts a zeroed one */

#endif
