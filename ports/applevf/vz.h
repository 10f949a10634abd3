/* SPDX-License-Identifier: MIT */
/*
 * Virtualization.framework, seen from C. A machine of it lives in this process, on a serial queue
 * of its own: all that is said to it is said there, and so are its answers
 * (developer.apple.com/documentation/virtualization/vzvirtualmachine/init(configuration:queue:)).
 * Each call below that is not said to wait returns at once; what came of it is a letter (post.h).
 * What holds for every class, selector and value that is used: docs/applevf.md.
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
	bool framework;		 /* it is there */
	bool supported;		 /* and runs machines here */
	bool entitled;		 /* com.apple.security.virtualization */
	bool entitled_to_bridge; /* com.apple.vm.networking */
	/* What takes the framework's place in tests says so by a class that the real one has not.
	 */
	bool stand_in;
	char version[VZ_TEXT];		 /* of the system, of which it is a part */
	uint64_t memory_min, memory_max; /* bytes of a machine; 0 where there is no framework */
	uint64_t cpus_min, cpus_max;
};

void vz_host(struct vz_host *out);
/* ERR_INVALID, with the names of those that there are, where no interface of the host has this
 * identifier or display name. */
int vz_check_interface(const char *name, struct error *err);

/* --- what a machine is made of: vz_configuration.m -------------------------------------------- */

/* Whether the framework would make a machine of it, by its own word. What has no path is left out,
 * and of what is not whole nothing is asked. */
int vz_check(const struct plan *plan, struct error *err);

/* --- a machine: vz.m -------------------------------------------------------------------------- */

struct vz;

/* Makes it, waiting for its queue, and starts nothing. The plan's serial ends are its own then. */
struct vz *vz_new(struct plan *plan, struct post *post, struct error *err);
void vz_start(struct vz *vz);
void vz_pause(struct vz *vz);
void vz_resume(struct vz *vz);
/* At once; while it is being started, paused or resumed, as soon as it has been. */
void vz_stop(struct vz *vz);
/* Asks the guest to switch itself off. */
void vz_press_power(struct vz *vz);
void vz_set_memory(struct vz *vz, int64_t mib);
/* A directory for the device that waits for one; NULL takes it away. */
void vz_share(struct vz *vz, const char *path, bool read_only);
/* Every way between the guest and the host: cards, shares, listeners and connections. */
void vz_sever(struct vz *vz);
/* To a port of the guest's. */
void vz_connect(struct vz *vz, uint32_t port, uint64_t id);
/* connection: of a letter, and gone after this. Its descriptor is the caller's to close. */
void vz_hang_up(struct vz *vz, void *connection);
/* Stops it if it runs yet, and waits for that for LIMIT_VMM_END_MS; no letter comes any more. The
 * post is its own from then on. Accepts NULL. */
void vz_free(struct vz *vz);

#endif
