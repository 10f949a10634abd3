# SPDX-License-Identifier: MIT
# The supervisor of Macs: what it takes beside the rules that every backend has, and its program on the stand-in.

# Reference counts by hand, as the stand-in's run time has no others.
$(BUILD)/obj/%.o: ports/%.m $(BUILD)/flags
	@mkdir -p $(@D)
	$(call say,OBJC )$(CC) $(CPPFLAGS) $(OPT) -std=gnu17 -g $(OBJC_WARNINGS) -fblocks -fvisibility=hidden -MMD -MP -c -o $@ $<

# On a Mac a program may make machines only if it is signed for that, which anybody may do (ad hoc).
ifeq ($(PLATFORM),darwin)
CODESIGN ?= codesign
SIGN = $(CODESIGN) --force --sign - --entitlements ports/applevf/entitlements.plist $@
endif

include ports/applevf/standin/rules.mk

# The supervisor of Macs, on the stand-in for the framework: its Objective-C is compiled by clang for GNUstep's run time.
STANDIN_APPLEVF := $(BUILD)/standin/bin/microagent-applevf-supervisor
APPLEVF_SOURCES := $(wildcard ports/applevf/*.m)
APPLEVF_LIBS := $(foreach l,supervisor applevf backend-parts channel store contract base,$(call lib,$(l)))
$(BUILD)/standin/obj/%.o: ports/%.m $(BUILD)/flags | $(FIRST)
	@mkdir -p $(@D)
	$(call say,OBJC )$(CLANG) $(CPPFLAGS) $(VZ_CFLAGS) $(OBJC_WARNINGS) -fPIE -MMD -MP -c -o $@ $<
$(STANDIN_APPLEVF): $(BUILD)/obj/supervisor/main-applevf.o $(APPLEVF_SOURCES:ports/%.m=$(BUILD)/standin/obj/%.o) \
		$(APPLEVF_LIBS) $(VZ_LIB)
	@mkdir -p $(@D)
	$(call say,LD   )$(CLANG) -pie -o $@ $(filter %.o,$^) $(APPLEVF_LIBS) $(VZ_LIBS) -ljansson -lmd -lseccomp
	@ln -sf $(abspath $(BUILD)/bin)/microagent-artifact $(@D)/ # which it looks for beside itself
standin: $(STANDIN_APPLEVF)

$(call moved_here,tests/standin/virtualization/ tests/unit/test_applevf_)
