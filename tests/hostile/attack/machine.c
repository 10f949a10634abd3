/* SPDX-License-Identifier: MIT */
/* The machine itself: its devices' ports, its processes, its power. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/reboot.h>
#include <unistd.h>

#include "attack.h"

/* Devices that a PC has and a microvm may have: PIC, PIT, keyboard controller, RTC, DMA, fw_cfg,
 * PCI's configuration, ACPI. Not the reset port, which has an attack of its own. */
static const unsigned short ioports[] = {
	0x20,  0x21,  0x40,  0x43,  0x60,  0x61,  0x70,	 0x71,	0x80,  0x92,  0xa0,  0xa1,  0x3f8,
	0x3f9, 0x402, 0x510, 0x511, 0x514, 0x600, 0x604, 0x608, 0xcf8, 0xcfc, 0xcfe, 0xae00};

void ports(const char *seed, unsigned long count)
{
	noise_seed(seed);
	if (iopl(3) < 0)
		give_up("iopl");
	for (unsigned long i = 0; i < count; i++) {
		unsigned short port = ioports[noise() % (sizeof(ioports) / sizeof(*ioports))];

		switch (noise() % 3) {
		case 0:
			outb((unsigned char)(noise() & 0xde), port);
			break;
		case 1:
			(void)inl(port);
			break;
		default:
			if (port >= 0x500)
				outl((unsigned)noise() & ~0x2000u, port);
		}
	}
	said("words to ports", count);
}

_Noreturn void deaf(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		int pid = atoi(entry->d_name);

		if (pid > 1 && pid != getpid())
			kill(pid, SIGSTOP);
	}
	for (;;)
		pause();
}

void power(const char *how)
{
	int trigger;

	sync();
	if (strcmp(how, "panic") == 0) {
		trigger = open("/proc/sysrq-trigger", O_WRONLY);
		(void)!write(trigger, "c", 1);
	}
	reboot(strcmp(how, "off") == 0 ? RB_POWER_OFF : RB_AUTOBOOT);
	give_up(how);
}
