/* SPDX-License-Identifier: MIT */
/*
 * Functions by which C code uses Virtualization.framework. Each machine is in this process, and has
 * a serial dispatch queue. Calls to the machine, and its answers, run only on that queue
 * (developer.apple.com/documentation/virtualization/vzvirtualmachine/init(configuration:queue:)).
 * Each function below returns at once, unless its comment says that it waits. The function's result
 * comes later as a message to the event loop (post.h). docs/applevf.md says what is known about
 * every class, selector and value that this code uses.
 */
#ifndef BACKEND_APPLEVF_VZ_H
#define BACKEND_APPLEVF_VZ_H

#include <stdbool.h>
#include <stdint.h>

#include "applevf/plan.h"
#include "applevf/post.h"
#include "base/error.h"

/* --- what is there: vz_host.m ----------------------------------------------------------------- */

#define VZ_TEXT 256
struct vz_host {
	bool framework; /* true: this macOS has the framework */
	bool supported; /* true: the framework can run machines on this host */
	/* true: this program has the entitlement com.apple.security.virtualization */
	bool entitled;
	/* true: this program has the entitlement com.apple.vm.networking */
	bool entitled_to_bridge;
	/* true: the framework is the stand-in of the tests, which has a class that the real
	 * framework does not have. */
	bool stand_in;
	char version[VZ_TEXT]; /* the version of macOS, and so of the framework */
	/* the smallest and largest memory of a machine, in bytes; 0 if there is no framework */
	uint64_t memory_min, memory_max;
	uint64_t cpus_min, cpus_max;
};

void vz_host(struct vz_host *out);
/* Returns 0 if an interface of the host has this identifier or display name. Otherwise returns -1
 * with ERR_INVALID and a message that lists the interfaces that exist. */
int vz_check_interface(const char *name, struct error *err);

/* --- what a machine is made of: vz_configuration.m -------------------------------------------- */

/* Asks the framework whether it can make a machine from the plan. Leaves out disks, shares and
 * files whose path is NULL. If plan_is_whole() is false for the plan, the framework is not asked.
 * Returns 0, or -1 with err set. */
int vz_check(const struct plan *plan, struct error *err);

/* --- a machine: vz.m -------------------------------------------------------------------------- */

struct vz;

/* Makes the machine, but does not start it. Waits for the machine's queue. After success the
 * machine owns the plan's ends of the console's pipes. The caller frees the result by vz_free().
 * Returns NULL with err set on failure. */
struct vz *vz_new(struct plan *plan, struct post *post, struct error *err);
void vz_start(struct vz *vz);
void vz_pause(struct vz *vz);
void vz_resume(struct vz *vz);
/* Stops the machine at once. If the machine is being started, paused or resumed, stops it as soon
 * as that step is finished. */
void vz_stop(struct vz *vz);
/* Asks the guest to switch itself off. */
void vz_press_power(struct vz *vz);
void vz_set_memory(struct vz *vz, int64_t mib);
/* Sets the directory of the share that had none at the start. If `path` is NULL, removes the
 * directory. */
void vz_share(struct vz *vz, const char *path, bool read_only);
/* Cuts every connection between the guest and the host: cards, shares, listeners and sockets. */
void vz_sever(struct vz *vz);
/* Connects to a port of the guest. The answer is a message LETTER_CONNECTED with the same `id`. */
void vz_connect(struct vz *vz, uint32_t port, uint64_t id);
/* Closes a connection. `connection` is from a message of the queue, and must not be used after this
 * call. The caller closes the file descriptor of the same message. */
void vz_hang_up(struct vz *vz, void *connection);
/* Stops the machine if it still runs, and waits up to LIMIT_VMM_END_MS milliseconds until it has
 * stopped. No message of the queue comes after this call. Also frees the struct post that vz_new()
 * got. Accepts NULL. */
void vz_free(struct vz *vz);

#endif
