/* SPDX-License-Identifier: MIT */
/*
 * Virtualization.framework, seen from C. Each machine lives in this process and has a serial queue.
 * Calls to the machine and its answers run on that queue only
 * (developer.apple.com/documentation/virtualization/vzvirtualmachine/init(configuration:queue:)).
 * Each call below returns at once unless its comment says that it waits; the outcome comes as a
 * letter (post.h). docs/applevf.md says what is known about every class, selector and value that is
 * used.
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
	bool framework;		 /* the framework is there */
	bool supported;		 /* the framework runs machines on this host */
	bool entitled;		 /* com.apple.security.virtualization */
	bool entitled_to_bridge; /* com.apple.vm.networking */
	/* The stand-in of the tests is recognised by a class that the real framework does not
	 * have. */
	bool stand_in;
	char version[VZ_TEXT];		 /* of the system; the framework is a part of it */
	uint64_t memory_min, memory_max; /* bytes of a machine; 0 without the framework */
	uint64_t cpus_min, cpus_max;
};

void vz_host(struct vz_host *out);
/* Returns 0 if an interface of the host has this identifier or display name. Otherwise returns -1
 * with ERR_INVALID; the message lists the interfaces that exist. */
int vz_check_interface(const char *name, struct error *err);

/* --- what a machine is made of: vz_configuration.m -------------------------------------------- */

/* Asks the framework whether it would make a machine of the plan. Parts without a path are left
 * out. A plan that is not whole is not checked. Returns 0, or -1 with an error. */
int vz_check(const struct plan *plan, struct error *err);

/* --- a machine: vz.m -------------------------------------------------------------------------- */

struct vz;

/* Makes the machine and waits for its queue, but starts nothing. On success the machine takes over
 * the serial ends of the plan. The caller calls vz_free() on the result. */
struct vz *vz_new(struct plan *plan, struct post *post, struct error *err);
void vz_start(struct vz *vz);
void vz_pause(struct vz *vz);
void vz_resume(struct vz *vz);
/* Stops the machine at once. While the machine is being started, paused or resumed, the stop
 * happens as soon as that step is over. */
void vz_stop(struct vz *vz);
/* Asks the guest to switch itself off. */
void vz_press_power(struct vz *vz);
void vz_set_memory(struct vz *vz, int64_t mib);
/* Gives a directory to the device that waits for a directory. A NULL path takes the directory
 * away. */
void vz_share(struct vz *vz, const char *path, bool read_only);
/* Cuts every way between the guest and the host: cards, shares, listeners and connections. */
void vz_sever(struct vz *vz);
/* Connects to a port of the guest. The answer is LETTER_CONNECTED with this id. */
void vz_connect(struct vz *vz, uint32_t port, uint64_t id);
/* Closes a connection. connection comes from a letter and must not be used after this call. The
 * caller closes the descriptor of that letter. */
void vz_hang_up(struct vz *vz, void *connection);
/* Stops the machine if it still runs, and waits up to LIMIT_VMM_END_MS for that. No letter comes
 * any more. The machine takes over the post and frees it. Accepts NULL. */
void vz_free(struct vz *vz);

#endif
