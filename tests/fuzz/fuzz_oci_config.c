/* SPDX-License-Identifier: MIT */
/*
 * config.json as any engine, or anybody who can write into its bundle, may make it. It is refused
 * with a reason, or decoded as a whole. Fields are checked in documents of any shape, and a filter
 * of system calls is compiled or refused.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "fuzz_input.h"
#include "oci/config/config.h"
#include "oci/config/fields.h"
#include "oci/config/seccomp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void tell(void *arg, bool warning, const char *text)
{
	(void)arg;
	(void)warning;
	HOLDS(*text);
}

static const struct oci_notes notes = {.tell = tell};

static void check_texts(const char *const *texts)
{
	for (size_t i = 0; texts[i]; i++)
		HOLDS(strlen(texts[i]) < SIZE_MAX);
}

static void check_process(const struct oci_process *process)
{
	HOLDS(process->args[0] && *process->cwd == '/');
	HOLDS(process->umask >= -1 && process->umask <= 0777);
	HOLDS(process->rows <= UINT16_MAX && process->columns <= UINT16_MAX);
	check_texts(process->args);
	for (size_t i = 0; process->env[i]; i++)
		HOLDS(strchr(process->env[i], '=') > process->env[i]);
	for (int set = 0; set < OCI_CAPABILITY_SETS; set++)
		HOLDS(process->capabilities[set] >> 41 == 0);
}

static void check_config(const struct oci_config *config)
{
	check_process(&config->process);
	HOLDS(*config->root_path && config->version);
	for (size_t i = 0; i < config->nmounts; i++) {
		const struct oci_mount *mount = &config->mounts[i];

		HOLDS(*mount->destination && mount->data);
		HOLDS(mount->is_bind ? *mount->source : *mount->type);
	}
	HOLDS(config->nnamespaces <= OCI_NAMESPACE_TYPES);
	check_texts(config->masked_paths);
	check_texts(config->readonly_paths);
	for (int kind = 0; kind < OCI_HOOK_KINDS; kind++)
		for (size_t i = 0; i < config->hooks[kind].count; i++)
			HOLDS(*config->hooks[kind].items[i].path == '/');
}

static void check_seccomp(const json_t *seccomp)
{
	autobuf struct buf program = BUF_INIT(0);
	struct error err = {0};
	unsigned flags = 0;

	if (oci_seccomp_compile(seccomp, &program, &flags, &err) < 0)
		HOLDS(*err.msg && program.len == 0);
	else
		HOLDS(program.len > 0 && program.len % 8 == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct error err = {0};
	json_auto_t *document = oci_load(data, size, &err);
	struct oci_config config = {0};

	if (!document) {
		HOLDS(err.code == ERR_INVALID && *err.msg);
		return 0;
	}
	if (oci_fields_check(document, &notes, &err) < 0)
		HOLDS(err.code == ERR_UNSUPPORTED && *err.msg);
	if (oci_config_decode(document, &notes, &config, &err) < 0) {
		HOLDS(err.code == ERR_INVALID && !config.process.args);
		return 0;
	}
	check_config(&config);
	if (oci_config_check(&config, &notes, &err) < 0)
		HOLDS(err.code == ERR_UNSUPPORTED && *err.msg);
	if (config.seccomp)
		check_seccomp(config.seccomp);
	oci_config_free(&config);
	return 0;
}
