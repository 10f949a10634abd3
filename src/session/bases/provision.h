/* SPDX-License-Identifier: MIT */
/* The provisioning of a base. The files that provision a base share this header. */
#ifndef SESSION_PROVISION_H
#define SESSION_PROVISION_H

#include "api/guest.h"
#include "session/bases/base_making.h"
#include "session/bases/provision_log.h"
#include "session/bases/provision_stage.h"

/* The values are paths below the directory of the base in the making. */
#define PROVISION_WORK "work"
#define PROVISION_STATE PROVISION_WORK "/state"
#define PROVISION_STAGE PROVISION_WORK "/stage"
/* The value is the name of the workspace whose machine provisions a base. */
#define PROVISION_MACHINE "provision"

struct provisioning {
	struct making *making;
	const struct microagent_base_spec *spec;
	char *path;		  /* path of the base in the making */
	struct microagent *agent; /* the handle of work/state */
	struct supervisor_run supervisor;
	struct microagent_guest *guest;
	struct microagent_cancel cancel;
	struct provision_stage stage;
	struct provision_log log;
};

/* --- provision_machine.c --------------------------------------------------------------------- */

/* Returns a handle of the state directory PROVISION_STATE in `dir`, with the backend and the
 * confinement of the handle `of`. */
struct microagent *provision_agent(const struct microagent *of, const char *dir, struct error *err);
int provision_boot(struct provisioning *p, struct error *err);
/* If *err says that the connection to the guest is lost, replaces it by an error that says how the
 * machine ended. Returns -1. */
int provision_explain_lost(struct supervisor_run *supervisor, struct error *err);
/* Shuts the machine down. ERR_IO: the machine did not power off by itself, so the disk may not be
 * sealed. */
int provision_shut_down(struct provisioning *p, struct error *err);

/* --- provision_guest.c ----------------------------------------------------------------------- */

/* Runs `microagent-files VERB /` as root in the guest. The output goes to the log. */
int provision_helper(struct provisioning *p, const char *verb, struct error *err);
int provision_stage_in_guest(struct provisioning *p, struct error *err);
int provision_run_script(struct provisioning *p, struct error *err);
/* Runs the script in a macOS guest. The agent of such a guest takes no files, so the script's text
 * is an argument of sh. */
int provision_run_in_macos(struct provisioning *p, struct error *err);

#endif
