/* SPDX-License-Identifier: MIT */
#include "guest/init/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/module.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/console.h"

#ifndef MODULE_INIT_COMPRESSED_FILE
#define MODULE_INIT_COMPRESSED_FILE 4
#endif

static void load_module(const char *path)
{
	size_t len = strlen(path);
	int flags = len > 3 && strcmp(path + len - 3, ".ko") == 0 ? 0 : MODULE_INIT_COMPRESSED_FILE;
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (syscall(SYS_finit_module, fd, "", flags) < 0 && errno != EEXIST)
		console_line("module %s: %s", path, strerror(errno));
	unlink(path);
}

void modules_load(const char *list)
{
	autofree char *line = NULL;
	size_t size = 0;
	autofile FILE *file = fopen(list, "re");

	while (file && getline(&line, &size, file) > 0) {
		line[strcspn(line, "\r\n")] = '\0';
		if (line[0] && line[0] != '#')
			load_module(line);
	}
}
