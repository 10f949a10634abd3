# SPDX-License-Identifier: MIT
# The agent of macOS guests. On Linux it is made for tests alone: unit programs, a fuzz target, and standin.

$(eval $(call program,microagent-macos-agent,guest-macos,guest-macos base,$(HOST_LIBS)))

# The agent of macOS guests, for a guest of Linux that stands in for one.
$(BUILD)/standin/microagent-macos-agent: $(call objects_in,$(BUILD)/guest,$(filter src/base/%,$(GUEST_SOURCES)) \
		$(call sources,guest-macos) ports/guest-macos/main.c)
	@mkdir -p $(@D)
	$(call say,LD   )$(CC) $(GUEST_LDFLAGS) -Wl,--no-warnings -s -o $@ $^ -ljansson
standin: $(BUILD)/standin/microagent-macos-agent

$(eval $(call lone_test,guest-macos,ports/guest-macos/tests/unit))

$(FUZZ_BUILD)/libguest-macos.a: $(call fuzz_objects,guest-macos base)
$(FUZZ_BUILD)/bin/fuzz_macos_%: ports/guest-macos/tests/fuzz/fuzz_macos_%.c $(FUZZ_BUILD)/libguest-macos.a
	@mkdir -p $(@D)
	$(call fuzz_link,guest-macos)

$(call moved_here,src/guest-macos/ tests/unit/test_guest_macos_ tests/fuzz/fuzz_macos_)
