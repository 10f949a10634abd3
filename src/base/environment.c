/* SPDX-License-Identifier: MIT */
#include "base/environment.h"

#include <stdlib.h>

const char *environment_own(const char *name)
{
	return secure_getenv(name);
}
