/* SPDX-License-Identifier: MIT */
/* The data that all steps of making a template use. */
#ifndef SESSION_TEMPLATE_WARMING_H
#define SESSION_TEMPLATE_WARMING_H

#include "api/foreground.h"
#include "session/bases/provision.h"
#include "session/templates/template.h"

struct warming {
	const struct microagent *agent;
	const struct microagent_warm_spec *spec;
	const struct base *base;
	int fd; /* descriptor of .warming */
	int to; /* descriptor of the template in .warming */
	char *path;
	struct microagent *machines; /* the handle of work/state */
	struct supervisor_run supervisor;
	struct microagent_cancel cancel;
	struct provision_log log;
	json_t *saved; /* the supervisor's report about the saved machine */
};

/* Boots a machine that is like the machine of a session which will be restored from the template.
 * Its disk is `file`, a file below .warming. `option` is an option for the supervisor. */
int warming_boot(struct warming *w, const char *file, const char *option, struct error *err);
void warming_end_machine(struct warming *w);

/* --- template_trial.c ------------------------------------------------------------------------ */

/* Tests whether a machine can be restored from the sealed template, and whether the restored
 * machine runs commands. */
int template_try(struct warming *w, struct error *err);

#endif
