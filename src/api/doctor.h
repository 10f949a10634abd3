/* SPDX-License-Identifier: MIT */
/* Between the files of `doctor`: one check is one function, which looks and says what mends it. */
#ifndef API_DOCTOR_H
#define API_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "api/api.h"

enum verdict { VERDICT_OK, VERDICT_DEGRADED, VERDICT_FAILED, VERDICT_COUNT };

struct finding {
	enum verdict verdict;
	char detail[768];
	char remedy[512]; /* what mends it on any host; "" when nothing does or reason says it */
	enum error_reason reason;
};

void finding_detail(struct finding *out, enum verdict verdict, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void finding_error(struct finding *out, const struct error *why); /* a failure, for its reason */
void finding_remedy(struct finding *out, const char *remedy);

/* host: the supervisor's host block, or {"error"} when it could not be had. */
typedef void check_fn(const struct microagent *agent, const json_t *host, struct finding *out);

bool doctor_in_path(const char *program);

struct doctor_check {
	const char *name;
	check_fn *fn;
	const char *backend; /* of its hosts alone; NULL: of all */
};

/* --- linux, darwin: what is asked of that system --------------------------------------------- */

extern const struct doctor_check doctor_system_checks[];
extern const size_t doctor_system_check_count;
/* Of a backend whose machines the system itself runs: whether it does. */
void doctor_platform(const json_t *host, struct finding *out);
/* Where there is no network but isolated. */
void doctor_network_remedy(struct finding *out);

/* --- doctor_files.c: what lies in the cache and in the state directory ----------------------- */

check_fn doctor_kernel, doctor_guest_agent, doctor_image, doctor_import, doctor_state,
	doctor_session_disks;

#endif
