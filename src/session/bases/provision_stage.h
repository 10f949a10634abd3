/* SPDX-License-Identifier: MIT */
/* The script and the files of a provisioning, copied before anything is done with them: what is
 * recorded is what is run. */
#ifndef SESSION_PROVISION_STAGE_H
#define SESSION_PROVISION_STAGE_H

#include <jansson.h>
#include <stdbool.h>

#include "microagent_session.h"

/* In the directory that is given. */
#define STAGE_SCRIPT "script"
#define STAGE_FILES "files"

struct provision_stage {
	json_t *script;	  /* {"name","sha256"}; NULL: there is none */
	json_t *files;	  /* [{"name","sha256","bytes"}] */
	bool has_program; /* the script begins with "#!" */
	int64_t bytes;	  /* of all of them */
};

/* ERR_INVALID names what is no regular file, and of two files of one name the second. */
int provision_stage_copy(int dir, const struct microagent_base_spec *spec,
			 struct provision_stage *out, struct error *err);
void provision_stage_free(struct provision_stage *stage); /* accepts a zeroed one */

#endif
