/* SPDX-License-Identifier: MIT */
#include <sys/stat.h>
#include <unistd.h>

#include "session/bases/base_making.h"

/* Uses the owner's flag: the owner may clear it, and until then not even the owner changes or
 * removes the file. */
void file_set_immutable(int fd, bool on)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return;
	(void)fchflags(fd, on ? st.st_flags | UF_IMMUTABLE : st.st_flags & ~(unsigned)UF_IMMUTABLE);
}
