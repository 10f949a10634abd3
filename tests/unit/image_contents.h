/* SPDX-License-Identifier: MIT */
/* The contents of an image in a scratch directory. */
#ifndef IMAGE_CONTENTS_H
#define IMAGE_CONTENTS_H

#include "artifact/rootfs.h"
#include "artifact/tool.h"
#include "test_base.h"

#define TIME 1577836800

/* Makes a rootfs, and a directory for its contents. */
struct contents {
	const struct scratch *s;
	struct rootfs *fs;
	int data;
};

static inline void begin_bounded(struct contents *c, void **state,
				 const struct rootfs_bounds *bounds)
{
	struct error err = {0};

	*c = (struct contents){.s = *state};
	c->data = path_open_dir_at(c->s->fd, "data", true, 0700, &err);
	c->fs = rootfs_new(c->data, TIME, bounds, &err);
	assert_non_null(c->fs);
	assert_ok(tool_extend_path(&err));
}

static inline void begin(struct contents *c, void **state)
{
	begin_bounded(c, state, &rootfs_unbounded);
}

static inline void end(struct contents *c)
{
	rootfs_free(c->fs);
	close(c->data);
}

#endif
