/* SPDX-License-Identifier: MIT */
/*
 * Finds the facts on which a saved machine depends in addition to its files. The first fact is QEMU
 * itself, since the format of the devices' state may change from one build to the next. The second
 * is QEMU's command line, without the parts that differ at each start. The third is what the guest
 * has seen of the host's processor.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/qemu/accelerator.h"
#include "backend/qemu/binary.h"
#include "backend/qemu/command_line.h"
#include "backend/qemu/qemu.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"

static int put_vmm(const struct config *config, json_t *facts, struct error *err)
{
	autofree char *path = binary_find(config->architecture, err);

	return path ? json_put_string(facts, "vmm", path, err) : -1;
}

static int put_machine_line(const struct config *config, enum accelerator accelerator,
			    json_t *facts, struct error *err)
{
	const struct machine machine = {
		.config = config,
		.architecture = config->architecture,
		.accelerator = accelerator,
		.purpose = PURPOSE_PLUGGABLE,
		.cpu = accelerator_cpu(config->architecture, accelerator),
		.binary = "qemu",
		.label = "",
		.kernel = "",
		.initrd = "",
		.ram = RAM_FILE,
		.port = true,
		.saved = true,
		.layer = true,
	};
	autoargv struct argv words = ARGV_INIT;
	autobuf struct buf line = BUF_INIT(65536);

	if (command_line_build(&machine, &words, err) < 0)
		return -1;
	for (const char *const *word = argv_finish(&words, err); word && *word; word++)
		if (buf_printf(&line, err, "%s%s", line.len ? " " : "", *word) < 0)
			return -1;
	return line.len ? json_put_string(facts, "machine", buf_string(&line), err) : -1;
}

/* Adds the facts about the processor. Under TCG the guest uses the host's time-stamp counter, and
 * was told the counter's frequency. Under KVM the guest uses the whole processor. */
static int put_processor(enum accelerator accelerator, json_t *facts, struct error *err)
{
	static const char *const keys[] = {"model name", "stepping", "microcode", "flags"};
	autobuf struct buf all = BUF_INIT(65536);
	autofile FILE *f = NULL;
	autofree char *line = NULL;
	size_t room = 0, found = 0;
	uint32_t khz = 0;

	if (accelerator == ACCELERATOR_TCG)
		return accelerator_tsc_khz(&khz, err) < 0
			       ? -1
			       : json_put(facts, "tscKhz", json_integer(khz), err);
	f = fopen("/proc/cpuinfo", "re");
	while (f && found < ARRAY_SIZE(keys) && getline(&line, &room, f) > 0)
		for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
			if (!strncmp(line, keys[i], strlen(keys[i]))) {
				found++;
				if (buf_printf(&all, err, "%s", line) < 0)
					return -1;
			}
	return json_put_string(facts, "processor", buf_string(&all), err);
}

int qemu_save_facts(const struct config *config, enum accelerator accelerator, json_t *facts,
		    struct error *err)
{
	if (config->architecture != ARCHITECTURE_AMD64)
		return error_set(
			err, ERR_UNSUPPORTED,
			"only machines of amd64 can be saved, and this machine is of another architecture: make a machine of amd64 to save it");
	return put_vmm(config, facts, err) < 0 ||
			       put_machine_line(config, accelerator, facts, err) < 0 ||
			       put_processor(accelerator, facts, err) < 0
		       ? -1
		       : 0;
}
