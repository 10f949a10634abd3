/* SPDX-License-Identifier: MIT */
/* The output of a guest command. It is kept until this program prints it in the one object of
 * --json. */
#ifndef CLI_CAPTURE_H
#define CLI_CAPTURE_H

#include "base/buf.h"
#include "microagent.h"

struct capture {
	/* the bytes of stdout and of stderr; at most LIMIT_EXEC_OUTPUT_BYTES of each */
	struct buf bytes[2];
	bool truncated[2];
};

/* Adds output to the struct capture to which `data` points. That struct must be zeroed before the
 * first call. This function is used as the member `take` of struct microagent_sink. */
void capture_take(void *data, bool is_stderr, const void *bytes, size_t len);
void capture_free(struct capture *capture);
/* Prints the one object of --json, which has the output and the outcome of the command. `code` is
 * the exit code of this program. `read_by_ns` and the returned value are those of
 * cli_print_json_by(). */
int capture_print(const struct capture *capture, const struct microagent_outcome *outcome, int code,
		  uint64_t read_by_ns, struct error *err);

#endif
