/* SPDX-License-Identifier: MIT */
/* Tests whether Kconfig honoured a fragment, and the fragment that we ship. */
#include "test_base.h"

#include "artifact/kconfig.h"
#include "artifact/recipes.h"

static const char config[] = "# Automatically generated\nCONFIG_A=y\nCONFIG_NAME=\"x y\"\n"
			     "# CONFIG_OFF is not set\nCONFIG_LAST=12";

static void what_is_there_is_honoured(void **state)
{
	struct error err = {0};

	(void)state;
	assert_int_equal(kconfig_verify("# comment\n\nCONFIG_A=y\nCONFIG_NAME=\"x y\"\n"
					"# CONFIG_OFF is not set\n# CONFIG_ABSENT is not set\n"
					"CONFIG_LAST=12\n",
					config, &err),
			 0);
	assert_int_equal(kconfig_verify("", config, &err), 0);
}

static void assert_lost(const char *fragment, const char *name)
{
	struct error err = {0};

	assert_int_equal(kconfig_verify(fragment, config, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
	if (!strstr(err.msg, name))
		fail_msg("%s does not name %s", err.msg, name);
}

static void what_is_lost_is_named(void **state)
{
	(void)state;
	assert_lost("CONFIG_B=y\n", "CONFIG_B=y");
	assert_lost("CONFIG_A=m\n", "CONFIG_A=m");
	assert_lost("CONFIG_A=yes\n", "CONFIG_A=yes");
	assert_lost("CONFIG_LAST=1\n", "CONFIG_LAST=1");
	assert_lost("# CONFIG_A is not set\n", "CONFIG_A is not set");
	assert_lost("CONFIG_A=y\nCONFIG_X=y\nCONFIG_Y=y",
		    "2 of the settings that microagent needs");
}

/* Linux has renamed the options against the processor's faults, and removed those that are always
 * on. */
static void newer_kernels_have_other_names(void **state)
{
	static const char fragment[] = "CONFIG_RETPOLINE=y\nCONFIG_BASE_FULL=y\n"
				       "CONFIG_RANDOM_TRUST_CPU=y\n";
	static const char old[] = "# Linux/x86 6.1.192 Kernel Configuration\n";
	static const char newer[] = "#\n# Linux/x86 6.12.1 Kernel Configuration\n#\n";
	static const char newer_set[] = "# Linux/arm64 6.12.1 Kernel Configuration\n"
					"CONFIG_MITIGATION_RETPOLINE=y\n"
					"# CONFIG_BASE_SMALL is not set\n";
	autobuf struct buf asked = BUF_INIT(0);
	struct error err = {0};

	(void)state;
	assert_int_equal(kconfig_add_new_names(fragment, &asked, &err), 0);
	assert_string_equal(buf_string(&asked),
			    "CONFIG_RETPOLINE=y\nCONFIG_BASE_FULL=y\nCONFIG_RANDOM_TRUST_CPU=y\n"
			    "CONFIG_MITIGATION_RETPOLINE=y\n# CONFIG_BASE_SMALL is not set\n");
	assert_int_equal(kconfig_verify(fragment, newer_set, &err), 0);
	assert_int_equal(kconfig_verify(fragment, newer, &err), -1);
	assert_non_null(strstr(
		err.msg,
		"1 of the settings that microagent needs, so build from another version of it: CONFIG_RETPOLINE=y"));
	assert_int_equal(kconfig_verify(fragment, old, &err), -1);
	assert_non_null(strstr(err.msg, "3 of the settings that microagent needs"));
}

static bool asks_for(const char *line)
{
	const char *at = strstr(recipe_tuned_config, line);

	return at && (at == recipe_tuned_config || at[-1] == '\n') && at[strlen(line)] == '\n';
}

/* Later parts rely on these options, and a guest without them would fail silently. */
static void our_fragment_asks_for_what_guests_need(void **state)
{
	static const char *const lines[] = {"# CONFIG_MODULES is not set",
					    "CONFIG_PVH=y",
					    "CONFIG_VIRTIO_MMIO=y",
					    "# CONFIG_VIRTIO_MMIO_CMDLINE_DEVICES is not set",
					    "CONFIG_VIRTIO_PCI=y",
					    "CONFIG_VIRTIO_BLK=y",
					    "CONFIG_VIRTIO_NET=y",
					    "CONFIG_VIRTIO_CONSOLE=y",
					    "CONFIG_HW_RANDOM_VIRTIO=y",
					    "CONFIG_VIRTIO_BALLOON=y",
					    "CONFIG_PAGE_REPORTING=y",
					    "CONFIG_VIRTIO_VSOCKETS=y",
					    "# CONFIG_VSOCKETS_LOOPBACK is not set",
					    "CONFIG_FUSE_FS=y",
					    "CONFIG_VIRTIO_FS=y",
					    "CONFIG_EXT4_FS=y",
					    "CONFIG_OVERLAY_FS=y",
					    "CONFIG_SQUASHFS=y",
					    "CONFIG_TMPFS=y",
					    "CONFIG_DEVTMPFS=y",
					    "CONFIG_MEMCG=y",
					    "CONFIG_CGROUP_PIDS=y",
					    "CONFIG_BLK_CGROUP=y",
					    "CONFIG_PSI=y",
					    "CONFIG_USER_NS=y",
					    "CONFIG_SECCOMP_FILTER=y",
					    "CONFIG_AUDITSYSCALL=y",
					    "CONFIG_BPF_SYSCALL=y",
					    "CONFIG_PROC_EVENTS=y",
					    "CONFIG_FANOTIFY=y",
					    "CONFIG_ACPI_BUTTON=y",
					    "CONFIG_HOTPLUG_PCI_ACPI=y",
					    "CONFIG_IP_PNP_DHCP=y",
					    "CONFIG_IPV6=y",
					    "CONFIG_KVM_GUEST=y",
					    "CONFIG_PRINTK_TIME=y",
					    "CONFIG_SERIAL_8250_PNP=y",
					    "CONFIG_BASE_FULL=y"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (!asks_for(lines[i]))
			fail_msg("%s", lines[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_there_is_honoured),
		cmocka_unit_test(what_is_lost_is_named),
		cmocka_unit_test(newer_kernels_have_other_names),
		cmocka_unit_test(our_fragment_asks_for_what_guests_need),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
