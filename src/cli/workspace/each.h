/* SPDX-License-Identifier: MIT */
/* Code for commands that do the same thing to every workspace that is named. */
#ifndef CLI_EACH_H
#define CLI_EACH_H

#include "cli/cli.h"
#include "microagent.h"

typedef int each_fn(struct microagent *agent, const char *name, json_t **response,
		    struct error *err);

/* Returns the text to print for name after success. It is called before each_fn. */
typedef const char *each_look_fn(struct microagent *agent, const char *name);

/*
 * Calls fn for each name, also after a failure; the first error is the command's. Prints a line
 * "NAME: STATE" for each, with the text of look in place of the state if there is one. With --json
 * it prints the response. For several names that is {"ok","responses":[...]}, with
 * {"ok":false,"error","errorCode"} for each failure.
 */
int each_run(struct cli *cli, const struct cli_words *names, const char *doing, each_fn *fn,
	     each_look_fn *look, struct error *err);

/* What each_run_sessions() does to each session. fn gets the name of the session. With many true
 * the answer has the form for several names, also for a single name. */
struct each_sessions {
	const char *doing;
	each_fn *fn;
	each_look_fn *look;
	bool many;
};
int each_run_sessions(struct cli *cli, const struct cli_words *names,
		      const struct each_sessions *what, struct error *err);

/* Makes the object that stands for one failure among several names:
 * {"ok":false,"name","error","errorCode",...}. */
json_t *each_failure(const struct cli *cli, const char *name, const struct error *why,
		     struct error *err);

#endif
