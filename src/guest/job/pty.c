/* SPDX-License-Identifier: MIT */
#include "guest/job/pty.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"

#define TTY_GROUP 5
/* The device number of /dev/ptmx (Documentation/admin-guide/devices.txt). */
#define PTMX makedev(5, 2)

int pty_open(const char *ptmx, uint16_t rows, uint16_t columns, uid_t owner, struct pty *out,
	     struct error *err)
{
	struct stat st;
	int unlocked = 0;

	autoclose int master = open(ptmx, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	if (master < 0)
		return error_errno(err, errno, "cannot open a terminal (%s)", ptmx);
	if (fstat(master, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != PTMX)
		return error_set(
			err, ERR_INVALID,
			"no terminal can be opened, because %s in the guest is not the kernel's device for terminals, /dev/ptmx: put that device back there",
			ptmx);
	if (ioctl(master, TIOCSPTLCK, &unlocked) < 0)
		return error_errno(err, errno, "cannot unlock a terminal");
	/* Opens the terminal through the master and not by its path, because the image may have no
	 * /dev/pts. */
	autoclose int terminal = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal < 0)
		return error_errno(err, errno, "cannot open a terminal's other side");
	if (geteuid() == 0 && fchown(terminal, owner, TTY_GROUP) < 0)
		return error_errno(err, errno, "cannot hand over a terminal");
	if (pty_resize(master, rows, columns, err) < 0)
		return -1;
	*out = (struct pty){.master = steal_fd(&master), .terminal = steal_fd(&terminal)};
	return 0;
}

int pty_resize(int master, uint16_t rows, uint16_t columns, struct error *err)
{
	struct winsize size = {.ws_row = rows, .ws_col = columns};

	if (ioctl(master, TIOCSWINSZ, &size) < 0)
		return error_errno(err, errno, "cannot resize a terminal");
	return 0;
}

pid_t pty_foreground(int master)
{
	pid_t group = 0;

	return ioctl(master, TIOCGPGRP, &group) == 0 && group > 0 ? group : 0;
}
