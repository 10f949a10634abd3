/* SPDX-License-Identifier: MIT */
/* One machine of HCS: the functions make, start and end it. Each call waits for the result of its
 * operation. */
#ifndef HYPERV_HCS_SYSTEM_H
#define HYPERV_HCS_SYSTEM_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "hyperv/machine/guid.h"

struct hcs_system;

/* Called once, on a thread of HCS, when the machine has ended. `exit_type` is the NotificationType
 * of the schema ("GracefulExit", ...), or "" if HCS does not tell it. HCS_GONE: the service of HCS
 * has ended, and the machine may go on, but no handle of it is valid any more. */
#define HCS_GONE "ServiceDisconnect"
typedef void hcs_exited_fn(void *data, const char *exit_type);

/* Makes a machine, but does not start it. `id` is the machine's GUID as text; `document` is for
 * HcsCreateComputeSystem. `exited` may be called from this moment on. */
struct hcs_system *hcs_system_create(const char *id, const json_t *document, hcs_exited_fn *exited,
				     void *data, struct error *err);
/* Closes the handle. A machine of this program ends when its last handle is closed. Accepts
 * NULL. */
void hcs_system_close(struct hcs_system *system);

int hcs_system_start(struct hcs_system *system, struct error *err);
/* Asks the guest to shut down, by Hyper-V's own service in the guest. A guest may lack that
 * service. */
int hcs_system_shut_down(struct hcs_system *system, struct error *err);
/* Ends the machine. Returns 0 if the machine has stopped already. */
int hcs_system_terminate(struct hcs_system *system, struct error *err);
/* Gets the id by which sockets name the machine. */
int hcs_system_runtime_id(struct hcs_system *system, struct guid *out, struct error *err);

/* Ends the machine of a keeper that has died, if it still exists. HCS should have ended it when its
 * last handle was closed. */
void hcs_end_leftover(const char *id);

/* Lets the machine's own Windows user open the file. */
int hcs_grant_access(const char *id, const char *path, struct error *err);
/* Checks that HCS answers, by asking for the machines of this program. Returns 0 or -1 with an
 * error. */
int hcs_probe(struct error *err);

#endif
