/* SPDX-License-Identifier: MIT */
#include "supervisor/templates/template_siblings.h"

int template_memory_share(int dir, int file, struct template_memory *out, struct error *err)
{
	(void)dir, (void)file, (void)out;
	return error_set(err, ERR_UNSUPPORTED,
			 "machines cannot be restored on this system: use a Linux host");
}

int template_memory_give(int siblings_fd, int ram_fd)
{
	(void)siblings_fd, (void)ram_fd;
	return -1;
}
