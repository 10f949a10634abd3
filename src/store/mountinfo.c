/* SPDX-License-Identifier: MIT */
#include "store/mountinfo.h"

#include <stdlib.h>

void mountinfo_free_row(struct mount_row *row)
{
	free(row->root);
	free(row->point);
	free(row->type);
}

void mountinfo_free(struct mountinfo *mounts)
{
	for (size_t i = 0; i < mounts->count; i++)
		mountinfo_free_row(&mounts->rows[i]);
	free(mounts->rows);
	*mounts = (struct mountinfo){0};
}
