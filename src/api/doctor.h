/* SPDX-License-Identifier: MIT */
/* Functions that the files of `doctor` share. Each check is one function, which looks at one thing
 * and says what repairs it. */
#ifndef API_DOCTOR_H
#define API_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "api/api.h"

enum verdict { VERDICT_OK, VERDICT_DEGRADED, VERDICT_FAILED, VERDICT_COUNT };

struct finding {
	enum verdict verdict;
	char detail[768];
	char remedy[512]; /* what repairs it on any host; "" if nothing does or reason says it */
	enum error_reason reason;
};

void finding_detail(struct finding *out, enum verdict verdict, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Sets a failure with the reason of `why`. */
void finding_error(struct finding *out, const struct error *why);
void finding_remedy(struct finding *out, const char *remedy);

/* A check. host is the supervisor's host block, or {"error"} if there is none. */
typedef void check_fn(const struct microagent *agent, const json_t *host, struct finding *out);

bool doctor_in_path(const char *program);

struct doctor_check {
	const char *name;
	check_fn *fn;
	const char *backend; /* the check is for hosts of this backend; NULL: for all hosts */
};

/* --- linux, darwin: what is asked of that system --------------------------------------------- */

extern const struct doctor_check doctor_system_checks[];
extern const size_t doctor_system_check_count;
/* Checks, for a backend whose machines the system itself runs, whether the system can run them. */
void doctor_platform(const json_t *host, struct finding *out);
/* Sets the remedy for a host that has no network except isolated. */
void doctor_network_remedy(struct finding *out);

/* --- doctor_files.c: what lies in the cache and in the state directory ----------------------- */

check_fn doctor_kernel, doctor_guest_agent, doctor_image, doctor_import, doctor_state,
	doctor_session_disks;

#endif
