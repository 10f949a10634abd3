/* SPDX-License-Identifier: MIT */
/* Of a template that is being made: what its steps have in common. */
#ifndef SESSION_TEMPLATE_WARMING_H
#define SESSION_TEMPLATE_WARMING_H

#include "api/foreground.h"
#include "session/bases/provision.h"
#include "session/templates/template.h"

struct warming {
	const struct microagent *agent;
	const struct microagent_warm_spec *spec;
	const struct base *base;
	int fd; /* of .warming */
	int to; /* of the template in it */
	char *path;
	struct microagent *machines; /* of work/state */
	struct supervisor_run supervisor;
	struct microagent_cancel cancel;
	struct provision_log log;
	json_t *saved; /* the supervisor's word on what it has saved */
};

/* A machine as that of a session that is restored from the template, with that disk, a file below
 * .warming; option: the supervisor's. */
int warming_boot(struct warming *w, const char *file, const char *option, struct error *err);
void warming_end_machine(struct warming *w);

/* --- template_trial.c ------------------------------------------------------------------------ */

/* Whether a machine can be restored from the sealed template, and runs commands. */
int template_try(struct warming *w, struct error *err);

#endif
