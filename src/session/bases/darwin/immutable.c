/* SPDX-License-Identifier: MIT */
#include <sys/stat.h>
#include <unistd.h>

#include "session/bases/base_making.h"

/* Sets or clears UF_IMMUTABLE, a flag of the file's owner. While the flag is set, nobody can change
 * or remove the file. The owner can clear the flag. */
void file_set_immutable(int fd, bool on)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return;
	(void)fchflags(fd, on ? st.st_flags | UF_IMMUTABLE : st.st_flags & ~(unsigned)UF_IMMUTABLE);
}
