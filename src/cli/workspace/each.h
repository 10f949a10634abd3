/* SPDX-License-Identifier: MIT */
/* Functions for commands that do the same thing to several workspaces. */
#ifndef CLI_EACH_H
#define CLI_EACH_H

#include "cli/cli.h"
#include "microagent.h"

typedef int each_fn(struct microagent *agent, const char *name, json_t **response,
		    struct error *err);

/* A function that returns the text to print for name after success. It is called before each_fn. */
typedef const char *each_look_fn(struct microagent *agent, const char *name);

/*
 * Calls `fn` for each name, also after a failure. The command fails with the first error. Prints a
 * line "NAME: STATE" for each name; if look() returns a text, it takes the place of STATE. With
 * --json prints the response for one name, and {"ok","responses":[...]} for several names; in the
 * array {"ok":false,"error","errorCode"} stands for a failure.
 */
int each_run(struct cli *cli, const struct cli_words *names, const char *doing, each_fn *fn,
	     each_look_fn *look, struct error *err);

/* The work that each_run_sessions() does for each session. `fn` gets the name of the session. If
 * `many` is true, the answer for a single name has the form for several names. */
struct each_sessions {
	const char *doing;
	each_fn *fn;
	each_look_fn *look;
	bool many;
};
int each_run_sessions(struct cli *cli, const struct cli_words *names,
		      const struct each_sessions *what, struct error *err);

/* Returns the object that stands for a failure among several names:
 * {"ok":false,"name","error","errorCode",...}. */
json_t *each_failure(const struct cli *cli, const char *name, const struct error *why,
		     struct error *err);

#endif
