/* SPDX-License-Identifier: MIT */
/*
 * Output that was too long for an answer, and is kept so that the client can read it as a resource.
 * The address of kept output is microagent://session/NAME/exec/N/stdout or
 * microagent://run/N/stdout (or .../stderr). "?offset=BYTES&limit=BYTES" after the address names a
 * part of the output. When a session is gone, its output is dropped. All kept output together has
 * at most MCP_KEPT_BYTES; the oldest output is dropped first.
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
	struct list list; /* the kept outputs, the oldest first */
	uint64_t bytes;
};

#define KEPT_URI_ROOM 160
void mcp_kept_init(struct mcp_kept *kept);
void mcp_kept_free(struct mcp_kept *kept);

/* Writes the address of an output to `out`. `session` is NULL for a command of `run`. */
void kept_uri(const char *session, unsigned number, bool is_stderr, char out[KEPT_URI_ROOM]);
/* Keeps the captured output of a stream, and takes its bytes over from `stream`. */
int kept_add(struct mcp_kept *kept, const char *session, const char *uri,
	     struct captured_stream *stream, struct error *err);
/* Drops all output of the session `session`. */
void kept_drop(struct mcp_kept *kept, const char *session);

/* Returns the entries for the answer to resources/list (kept_list) or to resources/templates/list
 * (kept_templates), as a new reference. */
json_t *kept_list(struct mcp_kept *kept);
json_t *kept_templates(void);
/* Returns the contents for the answer to resources/read. If the address names no limit, the
 * contents have at most `limit` bytes. Fails with ERR_NOT_FOUND if there is no such output, and
 * with ERR_INVALID if the part of the address after the "?" is wrong. */
json_t *kept_read(struct mcp_kept *kept, const char *uri, size_t limit, struct error *err);

#endif
