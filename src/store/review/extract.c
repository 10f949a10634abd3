/* SPDX-License-Identifier: MIT */
#include "store/review/extract.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/proc.h"

#define IMAGE_FD 3
#define DIR_FD 4
/* The part of the program's messages that an error has. */
#define SAID_BYTES 4096

int review_extract(const struct review_image *image, int dir, const char *const *paths,
		   size_t count, struct error *err)
{
	const char *const argv[] = {
		image->program, "review-extract", "--from-fd", "3", "--fd", "4", NULL};
	autobuf struct buf names = BUF_INIT(0);
	autobuf struct buf said = BUF_INIT(SAID_BYTES);
	struct proc child = PROC_NONE;
	struct error why = {0};
	int ends[2], code = 0;

	if (count == 0)
		return 0;
	if (image->fd < 0)
		return error_set(
			err, ERR_UNAVAILABLE,
			"the image of the reviewed directory is gone: make the machine again");
	for (size_t i = 0; i < count; i++)
		if (buf_append(&names, paths[i], strlen(paths[i]) + 1, err) < 0)
			return -1;
	autoclose int list = fd_memfd("paths", buf_bytes(&names), names.len, err);
	if (list < 0 || fd_pipe(ends, err) < 0)
		return -1;
	const struct proc_fd fds[] = {{list, STDIN_FILENO},
				      {ends[1], STDERR_FILENO},
				      {image->fd, IMAGE_FD},
				      {dir, DIR_FD}};
	const struct proc_spec spec = {
		.argv = argv, .fds = fds, .nfds = ARRAY_SIZE(fds), .die_with_parent = true};
	int status = proc_spawn(&spec, &child, err);
	close(ends[1]);
	if (status == 0) {
		/* A longer message makes this fail; the exit code says the same. */
		(void)fd_read_to_end(ends[0], &said, &why);
		close(ends[0]);
		status = proc_wait(&child, UINT64_MAX, &code, err);
	} else {
		close(ends[0]);
	}
	proc_end(&child);
	if (status < 0)
		return error_prefix(err, "microagent-artifact");
	if (code == 0)
		return 0;
	return error_set(err, ERR_IO,
			 "files of the reviewed directory's image could not be read: %.600s",
			 said.len > 0 ? buf_string(&said) : "microagent-artifact failed");
}
