/* SPDX-License-Identifier: MIT */
#include "supervisor/inputs/links.h"

#include "backend/backend.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "supervisor/handover/ticket.h"

#define LINKS_BYTES (1u << 20)

int links_read(const struct options *options, json_t **out, struct error *err)
{
	autobuf struct buf text = BUF_INIT(LINKS_BYTES);
	json_auto_t *links = NULL;
	size_t count;

	if (options->links_fd < 0)
		return 0;
	if (fd_read_to_end(options->links_fd, &text, err) < 0)
		return error_prefix(err, "--links-fd");
	links = json_load_strict(buf_bytes(&text), text.len, err);
	if (!links)
		return -1;
	count = ticket_link_count(links);
	if (count > VM_LINKS_MAX)
		return error_set(
			err, ERR_INVALID,
			"--links-fd names more than %d network cards, which is the limit of a machine: leave some out",
			VM_LINKS_MAX);
	for (size_t i = 0; i < count; i++)
		if (options->taps_fd < 0 || fd_cloexec(options->taps_fd + (int)i, true, err) < 0)
			return error_set(
				err, ERR_INVALID,
				"--taps-fd must be the first of %zu open taps, one for each network card of --links-fd",
				count);
	*out = json_incref(links);
	return 0;
}
