/* SPDX-License-Identifier: MIT */
/*
 * The file <cache>/host.json: facts about this host that were found by a trial. They are valid
 * until the host boots again. Each fact also has the identity of the file with which the trial was
 * made. So a new /dev/kvm (after its modules were loaded again) or another bwrap is tried anew.
 */
#ifndef BACKEND_PARTS_HOST_FACTS_H
#define BACKEND_PARTS_HOST_FACTS_H

#include <stdint.h>

#define HOST_THING_TEXT 128

struct host_facts {
	/* host_thing() of the /dev/kvm that was tried; "": nothing is known */
	char kvm_node[HOST_THING_TEXT];
	char kvm_verdict[16]; /* the name of a verdict (kvm_probe.c) */
	char kvm_reason[256];
	uint32_t kvm_untaken; /* KVM_UNTAKEN_* (kvm_loop.h) */
	uint32_t tsc_khz;     /* 0: not measured */
	/* host_thing() of a bwrap that made a cell; "": none is known */
	char cell_bwrap[HOST_THING_TEXT];
	char vmm_program[HOST_THING_TEXT];   /* host_thing() of a VMM; "": none is known */
	char vmm_said[2048];		     /* the text that this VMM prints as its version */
	char share_program[HOST_THING_TEXT]; /* host_thing() of a virtiofsd; "": none is known */
	char share_said[256]; /* the text that this virtiofsd prints as its version */
};

/* Writes an identity of the file at `path`: device, inode and time; "absent" if there is no
 * file. */
void host_thing(const char *path, char out[HOST_THING_TEXT]);
/* Reads the facts that are remembered for this boot of the host. Writes zeroes if nothing is
 * remembered, or if the file cannot be trusted, since it belongs to another user, others can write
 * to it, or it is not valid JSON. */
void host_facts_load(struct host_facts *out);
/* Writes the file anew with these facts. A failure is ignored: the trials are only made again. */
void host_facts_store(const struct host_facts *facts);

#endif
