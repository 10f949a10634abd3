/* SPDX-License-Identifier: MIT */
/* Makes the image and the list of a reviewed directory by the command review-build, in this process. */
#ifndef REVIEW_IMAGE_H
#define REVIEW_IMAGE_H

#include "review_fixture.h"

#include "artifact/artifact.h"
#include "artifact/tool.h"

struct built {
	int image, list;
	json_t *answer;
};

/* Calls a command with stdout in a file. Returns what the command has printed. */
static inline json_t *run(const struct scratch *s, artifact_fn *command,
			  struct artifact_options *opts)
{
	autobuf struct buf text = BUF_INIT(0);
	struct error err = {0};
	int result, out, before;

	opts->json = true;
	fflush(stdout);
	before = dup(STDOUT_FILENO);
	out = openat(s->fd, "answer", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(before >= 0 && out >= 0 && dup2(out, STDOUT_FILENO) >= 0);
	result = command(opts, &err);
	fflush(stdout);
	dup2(before, STDOUT_FILENO);
	close(before);
	close(out);
	if (result < 0)
		fail_msg("%s", err.msg);
	assert_ok(path_read_file_at(s->fd, "answer", &text, &err));
	return text.len ? json_load_strict(buf_bytes(&text), text.len, &err) : NULL;
}

static inline struct built build(const struct bed *bed, const char *image, const char *list)
{
	char numbers[3][16];
	struct built built = {
		.image = openat(bed->s->fd, image, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600),
		.list = openat(bed->s->fd, list, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
	struct artifact_options opts = {
		.from_fd = numbers[0], .fd = numbers[1], .list_fd = numbers[2]};
	struct error err = {0};

	assert_ok(tool_extend_path(&err));
	assert_int_equal(setenv("XDG_CACHE_HOME", scratch_path(bed->s, "cache"), 1), 0);
	snprintf(numbers[0], sizeof(numbers[0]), "%d", bed->host);
	snprintf(numbers[1], sizeof(numbers[1]), "%d", built.image);
	snprintf(numbers[2], sizeof(numbers[2]), "%d", built.list);
	built.answer = run(bed->s, artifact_review_build, &opts);
	assert_non_null(built.answer);
	return built;
}

static inline void built_end(struct built *built)
{
	close(built->image);
	close(built->list);
	json_decref(built->answer);
}

#endif
