/* SPDX-License-Identifier: MIT */
/* Functions that make, start and end one machine of HCS. Each call waits for the result of its
 * operation. */
#ifndef HYPERV_HCS_SYSTEM_H
#define HYPERV_HCS_SYSTEM_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "hyperv/machine/guid.h"

struct hcs_system;

/* A function that is called once, on a thread of HCS, when the machine has ended. `exit_type` is
 * the NotificationType of the HCS schema ("GracefulExit", ...), or "" if HCS does not report one.
 * HCS_GONE means that the service of HCS has ended. The machine may then go on, but every handle of
 * it is invalid. */
#define HCS_GONE "ServiceDisconnect"
typedef void hcs_exited_fn(void *data, const char *exit_type);

/* Makes a machine, but does not start it. `id` is the machine's GUID as text. `document` is the
 * document for HcsCreateComputeSystem. `exited` may be called from now on. Returns NULL with an
 * error. */
struct hcs_system *hcs_system_create(const char *id, const json_t *document, hcs_exited_fn *exited,
				     void *data, struct error *err);
/* Closes the handle. HCS ends a machine when its last handle is closed. Accepts NULL. */
void hcs_system_close(struct hcs_system *system);

int hcs_system_start(struct hcs_system *system, struct error *err);
/* Asks the guest to shut down, by Hyper-V's service in the guest. A guest may lack that service. */
int hcs_system_shut_down(struct hcs_system *system, struct error *err);
/* Ends the machine at once. Returns 0 also if the machine has already stopped. */
int hcs_system_terminate(struct hcs_system *system, struct error *err);
/* Sets *out to the machine's RuntimeId, by which sockets address the machine. */
int hcs_system_runtime_id(struct hcs_system *system, struct guid *out, struct error *err);

/* Ends the machine of a keeper that has died, if the machine still exists. Usually HCS has ended it
 * when its last handle was closed. */
void hcs_end_leftover(const char *id);

/* Gives the Windows user under which the machine runs the right to open the file. */
int hcs_grant_access(const char *id, const char *path, struct error *err);
/* Checks that HCS answers: asks it for the machines of this program. Returns 0, or -1 with an
 * error. */
int hcs_probe(struct error *err);

#endif
