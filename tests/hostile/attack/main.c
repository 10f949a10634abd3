/* SPDX-License-Identifier: MIT */
/*
 * A guest that attacks: root in a machine of ours, with every channel that leads out of it. Each
 * attack says on its last line what it did ("attack: what: n") and ends by itself; what the host
 * makes of it is looked at from outside (tests/e2e/test_hostile_guest.py).
 *
 * - attack control KIND COUNT: by the descriptor of the control stream, taken from the process that
 *   has it. KIND is telemetry (records of COUNT), commands (COUNT execs that were not), long (the
 *   same with the longest words), unknown, turn (a second hello), huge (a frame of 4 GiB), garbage
 * - attack agent KIND COUNT: by the agent's listener, the next COUNT calls of the host are answered
 *   by us. KIND is garbage, huge, silence, gone
 * - attack dial SEED COUNT: every CID that means something and COUNT ports, streams and datagrams
 * - attack storm COUNT: COUNT connections to a port that the host does not have
 * - attack frames SEED COUNT: by AF_PACKET on the first network card: noise, nearly right headers
 * - attack say udp|tcp FROM TO PORT HEX: from the port FROM, and prints what comes back to it
 * - attack tree PLACE COUNT: names, kinds of files and depths that a copy of the tree meets
 * - attack ports SEED COUNT: COUNT words to I/O ports of the machine's devices
 * - attack deaf: stops every process but init's, which cannot be stopped, and itself
 * - attack power HOW: off, reset, panic
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attack.h"

void said(const char *what, unsigned long n)
{
	printf("attack: %s: %lu\n", what, n);
	fflush(stdout);
}

_Noreturn void give_up(const char *what)
{
	perror(what);
	exit(3);
}

/* Noise that a failed run can be repeated with (xorshift64). */
static uint64_t noise_state;

uint64_t noise(void)
{
	noise_state ^= noise_state << 13;
	noise_state ^= noise_state >> 7;
	noise_state ^= noise_state << 17;
	return noise_state;
}

void noise_fill(unsigned char *to, size_t len)
{
	for (size_t i = 0; i < len; i++)
		to[i] = (unsigned char)noise();
}

void noise_seed(const char *text)
{
	noise_state = strtoull(text, NULL, 10) * 2 + 1;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	unsigned long count = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;

	noise_seed("1");
	if (argc == 4 && strcmp(what, "control") == 0)
		control(argv[2], count);
	else if (argc == 4 && strcmp(what, "agent") == 0)
		agent(argv[2], count);
	else if (argc == 4 && strcmp(what, "dial") == 0)
		dial_all(argv[2], count);
	else if (argc == 3 && strcmp(what, "storm") == 0)
		storm(strtoul(argv[2], NULL, 10));
	else if (argc == 4 && strcmp(what, "frames") == 0)
		frames(argv[2], count);
	else if (argc == 7 && strcmp(what, "say") == 0)
		say(strcmp(argv[2], "udp") == 0, argv[3], argv[4], argv[5], argv[6]);
	else if (argc == 4 && strcmp(what, "tree") == 0)
		tree(argv[2], count);
	else if (argc == 4 && strcmp(what, "ports") == 0)
		ports(argv[2], count);
	else if (argc == 2 && strcmp(what, "deaf") == 0)
		deaf();
	else if (argc == 3 && strcmp(what, "power") == 0)
		power(argv[2]);
	else
		return 2;
	return 0;
}
