/* SPDX-License-Identifier: MIT */
#include "base/platform/passing.h"

void passing_refuse(int sock)
{
	(void)sock;
}
