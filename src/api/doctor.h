/* SPDX-License-Identifier: MIT */
/* Declares what the files of `doctor` share. Each check is one function, which examines one thing,
 * and says how a fault of this thing is repaired. */
#ifndef API_DOCTOR_H
#define API_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "api/api.h"

enum verdict { VERDICT_OK, VERDICT_DEGRADED, VERDICT_FAILED, VERDICT_COUNT };

/* The result of a check. */
struct finding {
	enum verdict verdict;
	char detail[768];
	char remedy[512]; /* how to repair the fault, for example a command of the host; "" if there
			   * is no remedy, or if `reason` is set */
	enum error_reason reason; /* the reason of a fault for which the front end knows a command
				   * of microagent; REASON_NONE for other faults */
};

void finding_detail(struct finding *out, enum verdict verdict, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Sets the verdict VERDICT_FAILED with the message and the reason of `why`. */
void finding_error(struct finding *out, const struct error *why);
void finding_remedy(struct finding *out, const char *remedy);

/* A function that makes one check. `host` is the member "host" of the supervisor's answer, or
 * {"error"} if the supervisor gave no such answer. */
typedef void check_fn(const struct microagent *agent, const json_t *host, struct finding *out);

bool doctor_in_path(const char *program);

struct doctor_check {
	const char *name;
	check_fn *fn;
	const char *backend; /* the backend for which the check is made; NULL: every backend */
};

/* --- linux, darwin: the checks of one operating system --------------------------------------- */

extern const struct doctor_check doctor_system_checks[];
extern const size_t doctor_system_check_count;
/* Checks whether the host's operating system can run machines. For a backend without a VMM: on a
 * Mac, Virtualization.framework runs the machines. */
void doctor_platform(const json_t *host, struct finding *out);
/* Sets the remedy for a host whose machines can have only the network "isolated". */
void doctor_network_remedy(struct finding *out);

/* --- doctor_files.c: files in the cache and in the state directory --------------------------- */

check_fn doctor_kernel, doctor_guest_agent, doctor_image, doctor_import, doctor_state,
	doctor_session_disks;

#endif
