/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "artifact/tool.h"
#include "base/program.h"

int tool_extend_path(struct error *err)
{
	static const char admin[] = "/usr/local/sbin:/usr/sbin:/sbin";
	autobuf struct buf b = BUF_INIT(0);

	if (program_clean_path(err) < 0 || buf_printf(&b, err, "%s:%s", getenv("PATH"), admin) < 0)
		return -1;
	if (setenv("PATH", buf_string(&b), 1) < 0)
		return error_errno(err, errno, "PATH");
	return 0;
}
