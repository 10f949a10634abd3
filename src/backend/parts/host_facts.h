/* SPDX-License-Identifier: MIT */
/*
 * <cache>/host.json: what was found out about this host by trying, valid until it boots again. Each
 * part also names the thing it was tried with, so that a new /dev/kvm node (its modules loaded
 * again) or another bwrap is tried anew.
 */
#ifndef BACKEND_PARTS_HOST_FACTS_H
#define BACKEND_PARTS_HOST_FACTS_H

#include <stdint.h>

#define HOST_THING_TEXT 128

struct host_facts {
	char kvm_node[HOST_THING_TEXT]; /* what was tried; "" with nothing known */
	char kvm_verdict[16];		/* kvm_probe.c's word */
	char kvm_reason[256];
	uint32_t kvm_untaken;		   /* KVM_UNTAKEN_* (kvm_loop.h) */
	uint32_t tsc_khz;		   /* 0: not measured */
	char cell_bwrap[HOST_THING_TEXT];  /* host_thing() of a bwrap that made a cell; "" else */
	char vmm_program[HOST_THING_TEXT]; /* host_thing() of a VMM that was asked for its version
					    */
	char vmm_said[2048];
	char share_program[HOST_THING_TEXT]; /* the same of a virtiofsd */
	char share_said[256];
};

/* Identifies the present file at path by device, inode and time; "absent" without one. */
void host_thing(const char *path, char out[HOST_THING_TEXT]);
/* All that is remembered of this boot; zeroes where there is nothing, or nothing that can be
 * trusted: a file of another user or writable by others, bad JSON. */
void host_facts_load(struct host_facts *out);
/* Replaces what is remembered. Best effort: without a cache things are tried again. */
void host_facts_store(const struct host_facts *facts);

#endif
