/* SPDX-License-Identifier: MIT */
/* A tree to be copied. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attack.h"

static void tree_names(void)
{
	static const char *const names[] = {
		"\033]0;owned\a",
		"\n-rf",
		("\302\233"
		 "31m"),
		"\342\200\256txt.exe",
		"\377\376",
		"...",
		"-",
		"a\rb",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		close(open(names[i], O_CREAT | O_WRONLY, 0666));
}

static void tree_kinds(void)
{
	(void)!symlink("/etc/passwd", "absolute");
	(void)!symlink("../../../../../../etc/passwd", "upwards");
	(void)!symlink("loop", "loop");
	(void)!symlink("..", "parent");
	(void)!mkdir("parent/inside", 0777);
	mkfifo("fifo", 0666);
	mknod("zero", S_IFCHR | 0666, 0x105);
	mknod("disk", S_IFBLK | 0666, 0xfe00);
	close(open("setuid", O_CREAT | O_WRONLY, 0777));
	chmod("setuid", 06777);
	(void)!link("setuid", "hard");
	int sparse = open("sparse", O_CREAT | O_WRONLY, 0666);
	(void)!ftruncate(sparse, (off_t)1 << 33);
	close(sparse);
}

void tree(const char *place, unsigned long count)
{
	char name[256];
	unsigned long deep = 0;

	if (mkdir(place, 0777) < 0 || chdir(place) < 0)
		give_up(place);
	tree_names();
	tree_kinds();
	for (unsigned long i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "file-%lu", i);
		close(open(name, O_CREAT | O_WRONLY, 0666));
	}
	memset(name, 'd', 200);
	name[200] = '\0';
	while (deep < count && mkdir(name, 0777) == 0 && chdir(name) == 0)
		deep++;
	said("deep", deep);
}
