/* SPDX-License-Identifier: MIT */
/* Functions for commands that apply one action to several workspaces. */
#ifndef CLI_EACH_H
#define CLI_EACH_H

#include "cli/cli.h"
#include "microagent.h"

typedef int each_fn(struct microagent *agent, const char *name, json_t **response,
		    struct error *err);

/* A function that returns the text to print after success for `name`. It is called before
 * each_fn. */
typedef const char *each_look_fn(struct microagent *agent, const char *name);

/*
 * Calls `fn` for each name. Goes on after a failure; the command then fails with the first error.
 * Prints a line "NAME: STATE" for each name. If look() returns a text, it replaces STATE. With
 * --json, prints the response for a single name, and {"ok","responses":[...]} for several names. In
 * this list the object of each_failure() stands for a failure.
 */
int each_run(struct cli *cli, const struct cli_words *names, const char *doing, each_fn *fn,
	     each_look_fn *look, struct error *err);

/* The work that each_run_sessions() does for each session. `fn` gets the name of the session. If
 * `many` is true, the answer has the form for several names even if there is only one name. */
struct each_sessions {
	const char *doing;
	each_fn *fn;
	each_look_fn *look;
	bool many;
};
int each_run_sessions(struct cli *cli, const struct cli_words *names,
		      const struct each_sessions *what, struct error *err);

/* Returns the object that stands for one failure in the answer for several names:
 * {"ok":false,"name","error","errorCode",...}. The caller releases it. */
json_t *each_failure(const struct cli *cli, const char *name, const struct error *why,
		     struct error *err);

#endif
