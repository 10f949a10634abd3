/* SPDX-License-Identifier: MIT */
/*
 * Makes the result of a workload: from the guest's message, which is hostile, to the document for
 * result.json and for answers. Pure.
 *
 * stdout and stderr are text. If the bytes were not UTF-8 (or held NUL), the text has U+FFFD in
 * their place, and stdoutBase64 or stderrBase64 has the exact bytes.
 */
#ifndef SUPERVISOR_RESULT_H
#define SUPERVISOR_RESULT_H

#include <jansson.h>

#include "base/error.h"

/* Returns the document as a new reference, or NULL with ERR_INVALID that names the field. path: of
 * result.json. *exit_code is 0..255. */
json_t *result_from_message(const json_t *message, const json_t *identity, const char *backend,
			    const char *path, int *exit_code, struct error *err);

#endif
