/* SPDX-License-Identifier: MIT */
/* Functions that create, start and end one machine of the Host Compute System (HCS). Each function
 * waits until HCS has finished the operation. */
#ifndef HYPERV_HCS_SYSTEM_H
#define HYPERV_HCS_SYSTEM_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "hyperv/machine/guid.h"

struct hcs_system;

/* A function that is called once, on a thread of HCS, when the machine has ended. `exit_type` is a
 * NotificationType of the HCS schema, such as "GracefulExit", or "" if HCS reports none. HCS_GONE
 * means that the service of HCS has stopped. The machine may still run then, but all its handles
 * are invalid. */
#define HCS_GONE "ServiceDisconnect"
typedef void hcs_exited_fn(void *data, const char *exit_type);

/* Creates a machine, but does not start it. `id` is the machine's GUID as text. `document`
 * describes the machine for HcsCreateComputeSystem. From now on exited() may be called. Returns
 * NULL with err set on failure. */
struct hcs_system *hcs_system_create(const char *id, const json_t *document, hcs_exited_fn *exited,
				     void *data, struct error *err);
/* Closes the handle of the machine. HCS ends a machine when its last handle is closed. Accepts
 * NULL. */
void hcs_system_close(struct hcs_system *system);

int hcs_system_start(struct hcs_system *system, struct error *err);
/* Asks the guest to shut down, by Hyper-V's integration service in the guest. Fails if the guest
 * has no such service. */
int hcs_system_shut_down(struct hcs_system *system, struct error *err);
/* Ends the machine at once. Returns 0 even if the machine has already stopped. */
int hcs_system_terminate(struct hcs_system *system, struct error *err);
/* Sets *out to the machine's RuntimeId, which is a part of the address of its sockets. */
int hcs_system_runtime_id(struct hcs_system *system, struct guid *out, struct error *err);

/* Ends the machine of a live supervisor that has died, if the machine still exists. Usually HCS has
 * already ended the machine, because its last handle was closed. */
void hcs_end_leftover(const char *id);

/* Gives the Windows user account under which the machine runs the right to open the file. */
int hcs_grant_access(const char *id, const char *path, struct error *err);
/* Checks that HCS answers, by asking for the list of this program's machines. Returns 0, or -1 with
 * err set. */
int hcs_probe(struct error *err);

#endif
