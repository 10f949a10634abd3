/* SPDX-License-Identifier: MIT */
/* The output of a command, kept for the one object of --json. */
#ifndef CLI_CAPTURE_H
#define CLI_CAPTURE_H

#include "base/buf.h"
#include "microagent.h"

struct capture {
	struct buf bytes[2]; /* stdout, stderr: at most LIMIT_EXEC_OUTPUT_BYTES each */
	bool truncated[2];
};

/* data is the (zeroed) struct capture: as microagent_sink.take. */
void capture_take(void *data, bool is_stderr, const void *bytes, size_t len);
void capture_free(struct capture *capture);
/* code: our exit code. read_by_ns and what is returned: as of cli_print_json_by(). */
int capture_print(const struct capture *capture, const struct microagent_outcome *outcome, int code,
		  uint64_t read_by_ns, struct error *err);

#endif
