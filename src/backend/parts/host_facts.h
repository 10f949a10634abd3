/* SPDX-License-Identifier: MIT */
/*
 * The file <cache>/host.json, which has facts about this host that were found by a trial. The facts
 * are valid until the host boots again. Beside each fact is the identity of the file with which the
 * trial was made. If that file is replaced, the trial is made again. The file is replaced, for
 * example, if the modules of /dev/kvm are loaded again, or if bwrap is updated.
 */
#ifndef BACKEND_PARTS_HOST_FACTS_H
#define BACKEND_PARTS_HOST_FACTS_H

#include <stdint.h>

#define HOST_THING_TEXT 128

struct host_facts {
	/* The identity (host_thing()) of the /dev/kvm that was tried; "": none was tried. */
	char kvm_node[HOST_THING_TEXT];
	char kvm_verdict[16]; /* the name of the verdict about KVM (kvm_probe.c) */
	char kvm_reason[256];
	uint32_t kvm_untaken; /* the KVM_UNTAKEN_* bits that were found (kvm_loop.h) */
	/* The frequency of the time-stamp counter in kHz; 0: it was not measured. */
	uint32_t tsc_khz;
	/* The identity of the bwrap that has made a cell; "": no such bwrap is known. */
	char cell_bwrap[HOST_THING_TEXT];
	/* The identity of the VMM whose version is in vmm_said; "": no version is known. */
	char vmm_program[HOST_THING_TEXT];
	char vmm_said[2048]; /* the text that this VMM has printed as its version */
	/* The identity of the virtiofsd whose version is in share_said; "": no version is known. */
	char share_program[HOST_THING_TEXT];
	char share_said[256]; /* the text that this virtiofsd has printed as its version */
};

/* Writes the identity of the file at `path`: its device, inode and time. Writes "absent" if there
 * is no file. */
void host_thing(const char *path, char out[HOST_THING_TEXT]);
/* Reads the facts that are remembered for this boot of the host. Sets all members to 0 if no fact
 * is remembered, or if the file cannot be trusted. A file is not trusted if it belongs to another
 * user, if others can write to it, or if it is not valid JSON. */
void host_facts_load(struct host_facts *out);
/* Replaces the file by a file with these facts. A failure is ignored, since it only means that the
 * trials are made again. */
void host_facts_store(const struct host_facts *facts);

#endif
