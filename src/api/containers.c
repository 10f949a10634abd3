/* SPDX-License-Identifier: MIT */
#include "api/containers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"
#include "store/audit.h"

/* An archive in the "newc" form (Documentation/driver-api/early-userspace/buffer-format.rst) that
 * has only the entry that marks the end. */
#define ZERO "00000000"
static const char empty_archive[] =
	"070701" ZERO ZERO ZERO ZERO	    /* inode, mode, owner, group */
	"00000001" ZERO ZERO		    /* links, time, size */
		ZERO ZERO ZERO ZERO	    /* devices */
	"0000000b" ZERO "TRAILER!!!\0\0\0"; /* length of the name, checksum */

int containers_create(struct microagent *agent, const char *name,
		      const struct microagent_spec *spec, const char *seed, const json_t *sandbox,
		      struct error *err)
{
	auto_existing struct open_workspace made = {0};
	struct microagent_spec whole = *spec;
	struct stat st;

	whole.no_disk = true;
	whole.initrd = seed;
	if (stat(seed, &st) < 0 &&
	    path_replace_file_at(AT_FDCWD, seed, empty_archive, sizeof(empty_archive) - 1, 0600,
				 PATH_NO_SYNC, err) < 0)
		return -1;
	if (microagent_create(agent, name, &whole, NULL, err) < 0 ||
	    open_workspace_named(agent, name, &made, err) < 0)
		return -1;
	return workspace_write(&made.ws, SANDBOX_RECORD, sandbox, STORE_NO_SYNC, err);
}

/* The options for a supervisor, and the descriptors to which these options refer by number. */
struct handing {
	char words[SUPERVISOR_OPTIONS_MAX][48];
	const char *options[SUPERVISOR_OPTIONS_MAX + 1];
	int fds[SUPERVISOR_HANDED_MAX];
	size_t nwords, nfds;
};

static void add_number_word(struct handing *h, const char *option, int value)
{
	char *word = h->words[h->nwords];

	snprintf(word, sizeof(h->words[0]), "--%s=%d", option, value);
	h->options[h->nwords++] = word;
}

/* Adds descriptors that the supervisor inherits, and an option with the number of the first of
 * them. */
static void hand_over(struct handing *h, const char *option, const int *fds, size_t count)
{
	add_number_word(h, option, SUPERVISOR_HANDED + (int)h->nfds);
	memcpy(h->fds + h->nfds, fds, count * sizeof(*fds));
	h->nfds += count;
}

int containers_start(struct microagent *agent, const char *name, int directory,
		     const struct containers_links *links, pid_t number, struct error *err)
{
	autofree char *text = links->ntaps ? json_line(links->document, err) : NULL;
	autoclose int document = text ? fd_memfd("links", text, strlen(text), err) : -1;
	struct handing handing = {0};
	int status;

	if (links->ntaps && document < 0)
		return -1;
	add_number_word(&handing, "cell-number", (int)number);
	hand_over(&handing, "containers-fd", &directory, 1);
	if (links->loopback >= 0)
		hand_over(&handing, "loopback-fd", &links->loopback, 1);
	if (links->ntaps) {
		hand_over(&handing, "links-fd", &document, 1);
		hand_over(&handing, "taps-fd", links->taps, links->ntaps);
	}
	agent->handed = handing.fds;
	agent->nhanded = handing.nfds;
	status = workspace_start_with_options(agent, handing.options, name, err);
	agent->handed = NULL;
	agent->nhanded = 0;
	return status;
}
