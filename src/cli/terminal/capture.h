/* SPDX-License-Identifier: MIT */
/* The output of a guest command, which is kept until it is printed in the one object of --json. */
#ifndef CLI_CAPTURE_H
#define CLI_CAPTURE_H

#include "base/buf.h"
#include "microagent.h"

struct capture {
	struct buf bytes[2]; /* stdout, stderr: at most LIMIT_EXEC_OUTPUT_BYTES each */
	bool truncated[2];
};

/* Adds output to the struct capture to which `data` points. The struct must be zeroed before the
 * first call. The function is for the member `take` of struct microagent_sink. */
void capture_take(void *data, bool is_stderr, const void *bytes, size_t len);
void capture_free(struct capture *capture);
/* Prints the object. `code`: the exit code of this program. `read_by_ns` and the result are as for
 * cli_print_json_by(). */
int capture_print(const struct capture *capture, const struct microagent_outcome *outcome, int code,
		  uint64_t read_by_ns, struct error *err);

#endif
