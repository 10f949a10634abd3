/* SPDX-License-Identifier: MIT */
#include <sys/stat.h>
#include <unistd.h>

#include "session/bases/base_making.h"

/* Sets or clears UF_IMMUTABLE, the owner's flag. While the flag is set, not even the owner can
 * change or remove the file, but the owner can clear the flag. */
void file_set_immutable(int fd, bool on)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return;
	(void)fchflags(fd, on ? st.st_flags | UF_IMMUTABLE : st.st_flags & ~(unsigned)UF_IMMUTABLE);
}
