/* SPDX-License-Identifier: MIT */
/*
 * Functions by which C code uses Virtualization.framework. Each machine is in this process and has
 * a serial queue. Calls to the machine, and its answers, run only on that queue
 * (developer.apple.com/documentation/virtualization/vzvirtualmachine/init(configuration:queue:)).
 * Each call below returns at once unless its comment says that it waits; the outcome comes as a
 * letter (post.h). docs/applevf.md has the known facts about every class, selector and value that
 * is used.
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
	bool framework;		 /* this system has the framework */
	bool supported;		 /* the framework can run machines on this host */
	bool entitled;		 /* this program has com.apple.security.virtualization */
	bool entitled_to_bridge; /* this program has com.apple.vm.networking */
	/* The stand-in of the tests is recognised by a class that the real framework does not
	 * have. */
	bool stand_in;
	char version[VZ_TEXT]; /* the version of the system, and so of the framework */
	uint64_t memory_min,
		memory_max; /* bounds of a machine, in bytes; 0 without the framework */
	uint64_t cpus_min, cpus_max;
};

void vz_host(struct vz_host *out);
/* Returns 0 if an interface of the host has this identifier or display name. Otherwise returns -1
 * with ERR_INVALID; the message lists the interfaces that exist. */
int vz_check_interface(const char *name, struct error *err);

/* --- what a machine is made of: vz_configuration.m -------------------------------------------- */

/* Asks the framework whether it would make a machine of the plan. Parts without a path are left
 * out. Does not check a plan for which plan_is_whole() is false. Returns 0, or -1 with an error. */
int vz_check(const struct plan *plan, struct error *err);

/* --- a machine: vz.m -------------------------------------------------------------------------- */

struct vz;

/* Makes the machine, but does not start it. Waits for the machine's queue. After success the
 * machine owns the serial ends of the plan. The caller calls vz_free(). */
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
/* Gives a directory to the device of the share that has none yet. If `path` is NULL, takes the
 * directory away. */
void vz_share(struct vz *vz, const char *path, bool read_only);
/* Cuts every way between the guest and the host: cards, shares, listeners and connections. */
void vz_sever(struct vz *vz);
/* Connects to a port of the guest. The answer is a LETTER_CONNECTED with `id`. */
void vz_connect(struct vz *vz, uint32_t port, uint64_t id);
/* Closes a connection. `connection` comes from a letter and must not be used after this call. The
 * caller closes the descriptor that came in the same letter. */
void vz_hang_up(struct vz *vz, void *connection);
/* Stops the machine if it still runs, and waits up to LIMIT_VMM_END_MS until it has stopped. No
 * letter comes any more. The machine takes over the post and frees it. Accepts NULL. */
void vz_free(struct vz *vz);

#endif
