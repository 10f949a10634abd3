/* SPDX-License-Identifier: MIT */
/*
 * The result of a workload: from the guest's message, which is hostile, to the document that
 * result.json holds and answers carry. Pure.
 *
 * stdout and stderr are text. Where the bytes were not UTF-8 (or held NUL) the text has U+FFFD in
 * their place, and stdoutBase64 or stderrBase64 has the exact bytes beside it.
 */
#ifndef SUPERVISOR_RESULT_H
#define SUPERVISOR_RESULT_H

#include <jansson.h>

#include "base/error.h"

/* path: of result.json. *exit_code is 0..255. A new reference, or NULL with ERR_INVALID naming the
 * field. */
json_t *result_from_message(const json_t *message, const json_t *identity, const char *backend,
			    const char *path, int *exit_code, struct error *err);

#endif
