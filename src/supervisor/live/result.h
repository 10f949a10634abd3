/* SPDX-License-Identifier: MIT */
/*
 * Makes the document with the result of a workload, for result.json and for answers, from the
 * guest's message, which is not trusted. Reads and writes no files.
 *
 * stdout and stderr are texts in the document. If the output contains a NUL or bytes that are not
 * UTF-8, the text has U+FFFD in place of each such byte, and stdoutBase64 or stderrBase64 has the
 * exact bytes.
 */
#ifndef SUPERVISOR_RESULT_H
#define SUPERVISOR_RESULT_H

#include <jansson.h>

#include "base/error.h"

/* Returns the document, which the caller releases, and sets *exit_code to 0..255. If the message is
 * not valid, returns NULL with ERR_INVALID, and the error names the field. `path` is the path of
 * result.json, which is also a member of the document. */
json_t *result_from_message(const json_t *message, const json_t *identity, const char *backend,
			    const char *path, int *exit_code, struct error *err);

#endif
