/* SPDX-License-Identifier: MIT */
/* Declares what the steps of making a template share. */
#ifndef SESSION_TEMPLATE_WARMING_H
#define SESSION_TEMPLATE_WARMING_H

#include "api/foreground.h"
#include "session/bases/provision.h"
#include "session/templates/template.h"

struct warming {
	const struct microagent *agent;
	const struct microagent_warm_spec *spec;
	const struct base *base;
	int fd; /* descriptor of the directory .warming */
	int to; /* descriptor of the new template's directory in .warming */
	char *path;
	struct microagent *machines; /* handle of the state directory work/state */
	struct supervisor_run supervisor;
	struct microagent_cancel cancel;
	struct provision_log log;
	json_t *saved; /* the supervisor's description of the saved machine */
};

/* Boots a machine with the properties of the sessions that will be restored from the template.
 * `file` is the path of the machine's disk, relative to .warming. `option` is an additional option
 * for the supervisor. */
int warming_boot(struct warming *w, const char *file, const char *option, struct error *err);
void warming_end_machine(struct warming *w);

/* --- template_trial.c ------------------------------------------------------------------------ */

/* Tests whether a machine can be restored from the sealed template, and whether it then runs
 * commands. */
int template_try(struct warming *w, struct error *err);

#endif
