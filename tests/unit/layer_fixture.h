/* SPDX-License-Identifier: MIT */
/* An image that is being made: layers are written entry by entry and applied, or refused. */
#ifndef TEST_LAYER_FIXTURE_H
#define TEST_LAYER_FIXTURE_H

#include "test_base.h"

#include <sys/stat.h>

#include "artifact/layer.h"
#include "tar_entries.h"

static const struct rootfs_bounds ample = {.bytes = 1 << 20, .count = 5000, .text = 8 << 20};

/* An image in the making, in a scratch directory. */
struct making {
	struct scratch *scratch;
	struct rootfs *fs;
	struct buf tar; /* of the layer that is being written */
	int data;
	char diff_id[DIGEST_TEXT]; /* of the layer that was applied last */
};

static inline void make_bounded(struct making *m, void **state, const struct rootfs_bounds *bounds)
{
	struct error err = {0};

	*m = (struct making){.scratch = *state, .tar = BUF_INIT(0)};
	assert_int_equal(mkdirat(m->scratch->fd, "data", 0700), 0);
	m->data = openat(m->scratch->fd, "data", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	m->fs = rootfs_new(m->data, 1, bounds, &err);
	assert_non_null(m->fs);
}

static inline void make(struct making *m, void **state)
{
	make_bounded(m, state, &ample);
}

static inline void unmake(struct making *m)
{
	rootfs_free(m->fs);
	buf_free(&m->tar);
	close(m->data);
}

static inline void put(struct making *m, char type, const char *name, const char *more)
{
	struct tar_entry entry = {.type = type, .name = name, .mode = 0644};

	if (type == '0') {
		entry.data = more ? more : "";
		entry.len = strlen(entry.data);
		entry.size = entry.len;
	} else {
		entry.link = more;
	}
	tar_put(&m->tar, &entry);
}

/* Returns the archive as far as it is written. */
static inline int apply_cut(struct making *m, size_t len, struct error *err)
{
	assert_int_equal(path_replace_file_at(m->scratch->fd, "layer", buf_bytes(&m->tar), len,
					      0600, PATH_NO_SYNC, err),
			 0);
	autoclose int fd = openat(m->scratch->fd, "layer", O_RDONLY | O_CLOEXEC);
	return layer_apply(m->fs, fd, 0, len, m->diff_id, err);
}

static inline int apply(struct making *m, struct error *err)
{
	int result;

	tar_end(&m->tar);
	result = apply_cut(m, m->tar.len, err);
	buf_free(&m->tar);
	m->tar = (struct buf)BUF_INIT(0);
	return result;
}

static inline void applies(struct making *m)
{
	struct error err = {0};

	if (apply(m, &err) < 0)
		fail_msg("%s", err.msg);
}

static inline void refused(struct making *m, const char *said)
{
	struct error err = {0};

	assert_int_equal(apply(m, &err), -1);
	assert_code(err, ERR_INVALID);
	if (!strstr(err.msg, said))
		fail_msg("\"%s\" is not in \"%s\"", said, err.msg);
}

#define layer_test(fn) cmocka_unit_test_setup_teardown(fn, scratch_make, scratch_remove)

#endif
