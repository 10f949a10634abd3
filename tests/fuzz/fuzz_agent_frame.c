/* SPDX-License-Identifier: MIT */
/*
 * The agent's connection in the frame form: raw bytes, or (so that the fuzzer need not guess
 * lengths) the input cut into payloads at newlines and framed, in which 'I' at the front of a
 * payload stands for a stdin frame of the request whose number is the next byte.
 */
#include "agent_standin.h"
#include "base/agent_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool feed_framed(struct standin *s, const uint8_t *payload, size_t len)
{
	uint8_t head[AGENT_DATA_FRONT] = {0};
	size_t extra = 0;

	if (len >= 2 && payload[0] == 'I') {
		head[FRAME_HEADER] = AGENT_FRAME_STDIN;
		be64_put(head + FRAME_HEADER + 1, payload[1]);
		extra = AGENT_DATA_HEADER;
		payload += 2;
		len -= 2;
	}
	be32_put(head, (uint32_t)(extra + len));
	return standin_feed(s, head, FRAME_HEADER + extra) && standin_feed(s, payload, len);
}

static void feed_lines(struct standin *s, const uint8_t *data, size_t size)
{
	bool open = true;

	while (open && size > 0) {
		const uint8_t *newline = memchr(data, '\n', size);
		size_t len = newline ? (size_t)(newline - data) : size;

		open = feed_framed(s, data, len);
		data += len + (newline ? 1 : 0);
		size -= len + (newline ? 1 : 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct standin s;
	json_auto_t *config = json_pack("{s:[s]}", "command", "cat");
	struct request workload = {0};

	if (size < 2)
		return 0;
	chance_state = data[0] * 2654435761u;
	standin_begin(&s);
	if (data[1] & 2 && request_decode_workload(config, &workload, NULL) == 0)
		workload_begin(&s.server.workload, &workload, data[1] & 4, 1000);
	if (data[1] & 1)
		standin_feed(&s, data + 2, size - 2);
	else
		feed_lines(&s, data + 2, size - 2);
	/* The workload runs on without its client, so it is no part of the connection. */
	if (s.server.workload.job)
		job_kill(s.server.workload.job);
	standin_end(&s);
	return 0;
}
