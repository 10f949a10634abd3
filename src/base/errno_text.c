/* SPDX-License-Identifier: MIT */
#include "base/errno_text.h"

#include <string.h>

/* Not strerror(): that one is not safe in a library used by threads. */
const char *errno_text(int errnum)
{
	return strerrordesc_np(errnum);
}
