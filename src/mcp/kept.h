/* SPDX-License-Identifier: MIT */
/*
 * Output that was too long for an answer, as resources: microagent://session/NAME/exec/N/stdout,
 * and microagent://run/N/stdout, with "?offset=BYTES&limit=BYTES" behind it for a part. That of a
 * session goes with it; of all together MCP_KEPT_BYTES are kept, and the oldest go first.
 */
#ifndef MCP_KEPT_H
#define MCP_KEPT_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "mcp/capture.h"

struct mcp_kept {
	pthread_mutex_t lock;
	struct list list; /* the oldest first */
	uint64_t bytes;
};

#define KEPT_URI_ROOM 160
void mcp_kept_init(struct mcp_kept *kept);
void mcp_kept_free(struct mcp_kept *kept);

/* session NULL: of `run`. */
void kept_uri(const char *session, unsigned number, bool is_stderr, char out[KEPT_URI_ROOM]);
/* Takes over what was captured of a stream. */
int kept_add(struct mcp_kept *kept, const char *session, const char *uri,
	     struct captured_stream *stream, struct error *err);
/* What is kept of that session goes. */
void kept_drop(struct mcp_kept *kept, const char *session);

/* The entries of resources/list, and of resources/templates/list; new references. */
json_t *kept_list(struct mcp_kept *kept);
json_t *kept_templates(void);
/* The contents of resources/read, at most `limit` bytes of them where the address says nothing of a
 * limit. ERR_NOT_FOUND; ERR_INVALID for what is wrong behind the "?". */
json_t *kept_read(struct mcp_kept *kept, const char *uri, size_t limit, struct error *err);

#endif
