/* SPDX-License-Identifier: MIT */
/*
 * The init of a guest with several CPUs, static; says what it did and switches the machine off.
 *   init               nothing but that
 *   init patch COUNT   has the kernel patch its own code so often, in places where the other CPU is
 *                      at work: timer_migration is a static key of the timers
 *   init work COUNT    so many short programs in two rows at once, as a compiler's are
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void sleep_again_and_again(void)
{
	const struct timespec moment = {.tv_nsec = 1000};

	for (;;)
		nanosleep(&moment, NULL);
}

static int patch(int count)
{
	mkdir("/proc", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	int fd = open("/proc/sys/kernel/timer_migration", O_WRONLY);
	if (fd < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		if (fork() == 0)
			sleep_again_and_again();
	for (int i = 0; i < count; i++)
		if (pwrite(fd, i & 1 ? "1" : "0", 1, 0) != 1)
			return -1;
	return 0;
}

static int compare_numbers(const void *a, const void *b)
{
	const int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

/* Does what one short program does: uses fresh memory, and reads around in it. */
static int work_once(void)
{
	enum { NUMBERS = 20000 };
	int *numbers = malloc(NUMBERS * sizeof(*numbers));

	for (int i = 0; i < NUMBERS; i++)
		numbers[i] = rand();
	qsort(numbers, NUMBERS, sizeof(*numbers), compare_numbers);
	return numbers[0] < 0;
}

static int work(int count)
{
	int status, result = 0;

	for (int row = 0; row < 2; row++) {
		if (fork() != 0)
			continue;
		for (int i = 0; i < count; i++) {
			if (fork() == 0)
				execl("/init", "init", "once", (char *)NULL);
			wait(&status);
		}
		_exit(0);
	}
	for (int row = 0; row < 2; row++)
		result |= wait(&status) < 0 || status != 0;
	return result ? -1 : 0;
}

static void say(const char *text)
{
	(void)!write(1, text, strlen(text));
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 0;
	int status = 0;

	if (argc > 1 && !strcmp(argv[1], "once"))
		return work_once();
	say("GUEST-BEGINS\n");
	if (argc > 1 && !strcmp(argv[1], "patch"))
		status = patch(count);
	else if (argc > 1 && !strcmp(argv[1], "work"))
		status = work(count);
	say(status == 0 ? "GUEST-DONE\n" : "GUEST-FAILED\n");
	reboot(RB_POWER_OFF);
	return 1;
}
