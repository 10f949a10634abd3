/* SPDX-License-Identifier: MIT */
#include "backend/parts/confinement.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/parts/cell.h"
#include "backend/parts/host_facts.h"
#include "backend/parts/programs.h"
#include "backend/parts/vmm_filter.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/platform/linux/userns.h"

/* Reads the first line of bwrap's error message. The writing end of the pipe is closed, or will be
 * closed soon. */
static void hear_cell(int fd, char *line, size_t size)
{
	ssize_t n = 0;
	struct error ignored;

	if (fd_wait(fd, POLLIN, limit_deadline(LIMIT_CELL_MS), &ignored) == 0)
		n = read(fd, line, size - 1);
	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\n")] = '\0';
}

static int try_cell(const char *bwrap, struct error *err)
{
	struct error why = {0};
	struct cell cell = CELL_NONE;
	char said[160];
	int ends[2], code = -1;
	autofree char *program = program_true(err);
	autoclose int filter = -1;

	if (!program || vmm_filter_open(VMM_QEMU, false, &filter, err) < 0 ||
	    fd_pipe(ends, err) < 0)
		return -1;
	autoclose int from = ends[0];
	autoclose int to = ends[1];
	const char *const argv[] = {program, NULL};
	const struct proc_fd fds[] = {{to, 2}};
	const struct cell_spec spec = {
		.bwrap = bwrap,
		.program = program,
		.argv = argv,
		.fds = fds,
		.nfds = 1,
		.filter = filter,
	};

	const uint64_t deadline = limit_deadline(LIMIT_CELL_MS);
	int rc = cell_spawn(&spec, &cell, &why);
	if (rc == 0)
		rc = cell_release(&cell, &why);
	if (rc == 0)
		rc = proc_wait(&cell.monitor, deadline, &code, &why);
	cell_end(&cell);
	if (rc == 0 && code == 0)
		return 0;
	close(steal_fd(&to));
	hear_cell(from, said, sizeof(said));
	return userns_refused(*said ? said : why.msg, err);
}

char *confinement_bwrap(struct error *err)
{
	struct host_facts facts;
	char thing[HOST_THING_TEXT];
	autofree char *bwrap = program_bwrap(err);

	if (!bwrap)
		return NULL;
	host_thing(bwrap, thing);
	host_facts_load(&facts);
	if (strcmp(facts.cell_bwrap, thing) != 0) {
		if (try_cell(bwrap, err) < 0)
			return NULL;
		snprintf(facts.cell_bwrap, sizeof(facts.cell_bwrap), "%s", thing);
		host_facts_store(&facts);
	}
	return steal_ptr(&bwrap);
}

void confinement_forget(void)
{
	struct host_facts facts;

	host_facts_load(&facts);
	facts.cell_bwrap[0] = '\0';
	host_facts_store(&facts);
}
