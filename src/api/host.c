/* SPDX-License-Identifier: MIT */
/*
 * The checks of `doctor`. Each row of the tables is one check, which examines one thing, reports
 * its condition, and says how a fault is repaired.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/doctor.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/program.h"
#include "channel/program.h"

int microagent_host(struct microagent *agent, json_t **response, struct error *err)
{
	return request_call(agent, "host", NULL, NULL, response, err);
}

static const char *const verdict_names[VERDICT_COUNT] = {"ok", "degraded", "failed"};

void finding_detail(struct finding *out, enum verdict verdict, const char *fmt, ...)
{
	va_list args;

	out->verdict = verdict;
	va_start(args, fmt);
	vsnprintf(out->detail, sizeof(out->detail), fmt, args);
	va_end(args);
}

void finding_error(struct finding *out, const struct error *why)
{
	finding_detail(out, VERDICT_FAILED, "%s", why->msg);
	out->reason = why->reason;
}

void finding_remedy(struct finding *out, const char *remedy)
{
	snprintf(out->remedy, sizeof(out->remedy), "%s", remedy);
}

bool doctor_in_path(const char *program)
{
	autofree char *path = program_in_path(program);

	return path != NULL;
}

static void check_supervisor(const struct microagent *agent, const json_t *host,
			     struct finding *out)
{
	struct error why = {0};
	autofree char *path = backend_find_supervisor(agent->backend, &why);

	if (!path) {
		finding_detail(out, VERDICT_FAILED, "%s", why.msg);
		if (why.code == ERR_NOT_FOUND)
			finding_remedy(out, "make, then make install");
	} else if (*json_text(host, "error", "")) {
		finding_detail(out, VERDICT_FAILED, "%s: %s", path, json_text(host, "error", ""));
	} else {
		finding_detail(out, VERDICT_OK, "%s", path);
	}
}

/* Puts the path and version of the backend's VMM into the finding. Returns false if the host does
 * not have this VMM. */
static bool tell_vmm(const json_t *host, struct finding *out)
{
	const char *path = json_text(host, "binaryPath", "");

	if (*path)
		finding_detail(out, VERDICT_OK, "%s, version %s", path,
			       json_text(host, "binaryVersion", ""));
	return *path;
}

static void check_qemu(const struct microagent *agent, const json_t *host, struct finding *out)
{
	const char *architecture = json_text(host, "architecture", "");

	(void)agent;
	if (tell_vmm(host, out))
		return;
	finding_detail(out, VERDICT_FAILED, "no QEMU for this machine in PATH");
	finding_remedy(out, strcmp(architecture, "arm64") == 0
				    ? "sudo apt-get install qemu-system-arm"
				    : "sudo apt-get install qemu-system-x86");
}

static void check_firecracker(const struct microagent *agent, const json_t *host,
			      struct finding *out)
{
	(void)agent;
	if (tell_vmm(host, out))
		return;
	/* The member acceleratorReason is there if Firecracker exists but cannot be used. */
	finding_detail(out, VERDICT_FAILED, "%s",
		       json_text(host, "acceleratorReason", "no firecracker in PATH"));
	finding_remedy(
		out,
		"get a release of it from https://github.com/firecracker-microvm/firecracker/releases and name it in MICROAGENT_FIRECRACKER, or put it in PATH");
}

void doctor_platform(const json_t *host, struct finding *out)
{
	bool had = json_is_true(json_object_get(host, "virtualizationSupported"));

	finding_detail(out, had ? VERDICT_OK : VERDICT_FAILED, "%s",
		       json_text(host, "acceleratorReason", "the supervisor does not say"));
}

/* Checks Apple's framework. Even if this host has the framework, the framework may be unable to run
 * machines here. */
static void check_applevf(const struct microagent *agent, const json_t *host, struct finding *out)
{
	(void)agent;
	if (tell_vmm(host, out) && json_is_true(json_object_get(host, "natAvailable")))
		return;
	finding_detail(out, VERDICT_FAILED, "%s",
		       json_text(host, "acceleratorReason", "no Virtualization.framework"));
	/* Only a missing framework has a fixed remedy. For any other fault, the reason in the
	 * detail says what repairs the fault. */
	if (!json_is_true(json_object_get(host, "frameworkAvailable")))
		finding_remedy(out, "a Mac with macOS 13 or newer");
}

/* Checks whether machines were tested on hosts like this one. The finding never has a remedy. */
static void check_tested(const struct microagent *agent, const json_t *host, struct finding *out)
{
	const char *untested = json_text(host, "untested", "");

	(void)agent;
	if (!json_object_size(host) || *json_text(host, "error", ""))
		finding_detail(out, VERDICT_DEGRADED, "not known: the supervisor does not say");
	else if (*untested)
		finding_detail(out, VERDICT_DEGRADED, "%s", untested);
	else
		finding_detail(out, VERDICT_OK, "on %s",
			       json_text(host, "testedOn", "hosts like this one"));
}

/* Checks the host's architecture and the other architectures. It is not a fault if machines of
 * another architecture are not available, because few users need them. */
static void check_architecture_here(const struct microagent *agent, const json_t *host,
				    struct finding *out)
{
	const char *own = json_text(host, "architecture", "");
	char others[300] = "";
	const json_t *row;
	size_t i;

	(void)agent;
	json_array_foreach(json_object_get(host, "machines"), i, row)
	{
		const char *name = json_text(row, "architecture", "");
		bool had = json_is_true(json_object_get(row, "available"));

		if (strcmp(name, own) != 0)
			snprintf(others, sizeof(others), "; %s %s%s", name,
				 had ? "is emulated" : "cannot be had: ",
				 had ? "" : json_text(row, "reason", ""));
	}
	finding_detail(out, VERDICT_OK, "%s%s", *own ? own : "not known", others);
}

/* Checks that program_find() finds a program of microagent. */
static void check_beside(const char *program, enum verdict missing, const char *what,
			 struct finding *out)
{
	autofree char *path = program_find(program, NULL);

	if (path) {
		finding_detail(out, VERDICT_OK, "%s", path);
	} else {
		finding_detail(out, missing, "%s is missing: %s", program, what);
		finding_remedy(out, "make, then make install");
	}
}

static void check_vsock(const struct microagent *agent, const json_t *host, struct finding *out)
{
	(void)agent;
	(void)host;
	check_beside("microagent-vsockd", VERDICT_FAILED, "no machine can be reached", out);
}

static void check_artifact(const struct microagent *agent, const json_t *host, struct finding *out)
{
	(void)agent;
	(void)host;
	check_beside("microagent-artifact", VERDICT_DEGRADED,
		     "no kernel or image can be installed or built", out);
}

/* Checks the default network mode. If this mode is not available, every `run` needs the option
 * --network. */
static void check_host_network(const struct microagent *agent, const json_t *host,
			       struct finding *out)
{
	const char *reason = json_text(host, "natReason", "");

	(void)agent;
	if (json_is_true(json_object_get(host, "natAvailable"))) {
		finding_detail(out, *reason ? VERDICT_DEGRADED : VERDICT_OK, "nat%s%s%s",
			       *reason ? ": " : "", reason,
			       json_is_true(json_object_get(host, "bridgedAvailable")) ? ", bridged"
										       : "");
		return;
	}
	finding_detail(out, VERDICT_DEGRADED, "isolated only: %s",
		       *reason ? reason : "the supervisor does not say why");
	if (strcmp(agent->backend->name, "apple-vf") != 0)
		doctor_network_remedy(out);
}

static const struct doctor_check first_checks[] = {
	{"supervisor", check_supervisor, NULL},
	{"qemu", check_qemu, "qemu"},
	{"firecracker", check_firecracker, "firecracker"},
	{"virtualization", check_applevf, "apple-vf"},
	{"architecture", check_architecture_here, NULL},
	{"tested", check_tested, NULL},
};

static const struct doctor_check last_checks[] = {
	{"vsock", check_vsock, "qemu"},
	{"network", check_host_network, NULL},
	{"kernel", doctor_kernel, NULL},
	{"guest agent", doctor_guest_agent, NULL},
	{"image", doctor_image, NULL},
	{"artifact", check_artifact, NULL},
	{"image import", doctor_import, NULL},
	{"state directory", doctor_state, NULL},
	{"session disks", doctor_session_disks, NULL},
};

static int add_finding(json_t *list, const char *name, const struct finding *finding,
		       struct error *err)
{
	json_t *row = json_object();

	if (json_array_append_new(list, row) < 0)
		return error_errno(err, ENOMEM, "doctor");
	if (json_put_string(row, "name", name, err) < 0 ||
	    json_put_string(row, "status", verdict_names[finding->verdict], err) < 0 ||
	    json_put(row, "detail", json_string_lossy(finding->detail, strlen(finding->detail)),
		     err) < 0)
		return -1;
	if (finding->reason != REASON_NONE &&
	    json_put_string(row, "reason", error_reason_name(finding->reason), err) < 0)
		return -1;
	return finding->remedy[0] ? json_put_string(row, "remedy", finding->remedy, err) : 0;
}

struct report {
	json_t *list;
	enum verdict worst;
};

static int run_checks(const struct microagent *agent, const json_t *host,
		      const struct doctor_check *checks, size_t count, struct report *report,
		      struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		struct finding finding = {0};

		if (checks[i].backend && strcmp(checks[i].backend, agent->backend->name) != 0)
			continue;
		checks[i].fn(agent, host, &finding);
		if (finding.verdict > report->worst)
			report->worst = finding.verdict;
		if (add_finding(report->list, checks[i].name, &finding, err) < 0)
			return -1;
	}
	return 0;
}

/* Returns true if the backend runs only on another operating system, so that no other check makes
 * sense. */
static bool is_of_another_system(const struct microagent *agent)
{
	struct error why = {0};
	autofree char *path = backend_find_supervisor(agent->backend, &why);

	return !path && why.code == ERR_UNSUPPORTED;
}

static int run_all_checks(const struct microagent *agent, const json_t *host, struct report *report,
			  struct error *err)
{
	if (is_of_another_system(agent))
		return run_checks(agent, host, first_checks, 1, report, err);
	if (run_checks(agent, host, first_checks, ARRAY_SIZE(first_checks), report, err) < 0 ||
	    run_checks(agent, host, doctor_system_checks, doctor_system_check_count, report, err) <
		    0)
		return -1;
	return run_checks(agent, host, last_checks, ARRAY_SIZE(last_checks), report, err);
}

json_t *microagent_doctor(struct microagent *agent, struct error *err)
{
	json_auto_t *response = NULL;
	json_auto_t *answer = json_object();
	json_auto_t *none = json_object();
	struct report report = {json_array(), VERDICT_OK};
	json_t *host;
	struct error why = {0};

	if (microagent_host(agent, &response, &why) < 0 &&
	    json_put(none, "error", json_string_lossy(why.msg, strlen(why.msg)), err) < 0)
		return NULL;
	host = json_object_get(response, "host");
	if (json_put(answer, "checks", report.list, err) < 0 ||
	    run_all_checks(agent, host ? host : none, &report, err) < 0 ||
	    json_put(answer, "ok", json_boolean(report.worst != VERDICT_FAILED), err) < 0 ||
	    json_put_string(answer, "verdict", verdict_names[report.worst], err) < 0 ||
	    (host && json_put(answer, "host", json_incref(host), err) < 0))
		return NULL;
	return steal_ptr(&answer);
}
