/* SPDX-License-Identifier: MIT */
#include "supervisor/templates/template_memory.h"

/* Sets the error which says that machines cannot be saved on macOS, since no backend of macOS saves
 * machines. */
static int not_here(struct error *err)
{
	return error_set(err, ERR_UNSUPPORTED,
			 "machines cannot be saved on this system: use a Linux host");
}

int template_memory_new(uint64_t bytes, struct error *err)
{
	(void)bytes;
	return not_here(err);
}

int template_memory_load(int file, bool sealed, struct error *err)
{
	(void)file, (void)sealed;
	return not_here(err);
}

int template_memory_store(int memory, int file, uint64_t *resident, struct error *err)
{
	(void)memory, (void)file, (void)resident;
	return not_here(err);
}
