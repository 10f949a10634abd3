/* SPDX-License-Identifier: MIT */
/* The interface between the files of the command `base`. */
#ifndef CLI_BASE_H
#define CLI_BASE_H

#include "cli/options/guest.h"
#include "cli/terminal/signals.h"
#include "microagent_session.h"

struct base_values {
	struct machine_values machine;
	const char *image, *oci, *kernel, *ipsw, *put_agent, *script;
	int64_t size;
	struct cli_words stage, run;
	bool warm;
};

extern const struct cli_command base_create, base_warm;

/* --- base_create.c: the progress while a base or a template is made --- */

struct creating {
	const struct cli *cli;
	struct progress *progress;
};
/* Callbacks for the library. They print the progress. `data` points to the struct creating. */
void base_on_booted(void *data, const char *accelerator);
void base_on_line(void *data, enum microagent_base_line kind, const char *text);

/* --- base_warm.c --- */

/* Makes a template of a base. Before that, a shell in the guest runs each of `lines`. */
int base_warm_in(struct microagent *agent, const char *name, const struct cli_words *lines,
		 struct microagent_warm_spec *spec, json_t **base, struct error *err);

#endif
