/* SPDX-License-Identifier: MIT */
/* One machine of HCS: made, started, ended. Each call waits for its operation's result. */
#ifndef HYPERV_HCS_SYSTEM_H
#define HYPERV_HCS_SYSTEM_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "hyperv/machine/guid.h"

struct hcs_system;

/* Called on a thread of HCS's, once: the machine has ended. exit_type: NotificationType of the
 * schema ("GracefulExit", ...), "" where HCS does not say, or HCS_GONE: the service has gone away,
 * and the machine may run on without a handle. */
#define HCS_GONE "ServiceDisconnect"
typedef void hcs_exited_fn(void *data, const char *exit_type);

/* id: of the machine, a GUID as text; document: that of HcsCreateComputeSystem. Made, not started;
 * `exited` may come from here on. */
struct hcs_system *hcs_system_create(const char *id, const json_t *document, hcs_exited_fn *exited,
				     void *data, struct error *err);
/* Closing the last handle of a machine of ours ends it. Accepts NULL. */
void hcs_system_close(struct hcs_system *system);

int hcs_system_start(struct hcs_system *system, struct error *err);
/* Asks the guest, by Hyper-V's own service in it, which a guest need not have. */
int hcs_system_shut_down(struct hcs_system *system, struct error *err);
/* One that has stopped already is success. */
int hcs_system_terminate(struct hcs_system *system, struct error *err);
/* By which sockets name it. */
int hcs_system_runtime_id(struct hcs_system *system, struct guid *out, struct error *err);

/* Of a machine whose keeper has died: HCS ends it with its last handle, and where it did not, this
 * does. */
void hcs_end_leftover(const char *id);

/* Lets the machine's own user open the file. */
int hcs_grant_access(const char *id, const char *path, struct error *err);
/* That HCS answers us: asks for our machines. */
int hcs_probe(struct error *err);

#endif
