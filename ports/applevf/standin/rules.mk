# SPDX-License-Identifier: MIT
# The stand-in for Virtualization.framework, and how a client of it is compiled and linked (README.md has the traps).
# Objective-C with blocks is for clang alone, and GNUstep is built for GCC's runtime.

VZ := ports/applevf/standin
VZ_BUILD := $(BUILD)/standin/virtualization
VZ_LIB := $(VZ_BUILD)/libVirtualization.a

VZ_DEFINES := -DGNUSTEP -DGNUSTEP_BASE_LIBRARY=1 -DGNU_RUNTIME=1 -D_NATIVE_OBJC_EXCEPTIONS
# GNUstep's headers are in a directory of the architecture on Debian 13, and were in one for all on Debian 12. clang does not
# look where gcc has objc/objc.h: that is behind everything else, or gcc's stdint.h would come first.
VZ_GNUSTEP = $(firstword $(wildcard /usr/include/$(shell gcc -print-multiarch)/GNUstep) /usr/include/GNUstep)
VZ_INCLUDES = -I$(VZ)/include -I$(VZ)/gnustep -isystem $(VZ_GNUSTEP) -idirafter $(shell gcc -print-file-name=include)
VZ_WARNINGS := -Wall -Wextra -Werror
# For any client: these, CPPFLAGS, and its own.
VZ_CFLAGS = -std=gnu17 -g -O1 $(VZ_WARNINGS) $(VZ_DEFINES) $(VZ_INCLUDES) -fobjc-runtime=gcc -fblocks -fexceptions \
	    -fobjc-exceptions -fconstant-string-class=NSConstantString -pthread $(if $(SANITIZE),-fsanitize=address)
# In this order: the framework's blocks before libBlocksRuntime's, and those before libgnustep-base's.
VZ_LIBS = $(VZ_LIB) -lBlocksRuntime -lgnustep-base -lobjc -ldl -pthread

VZ_OBJECTS := $(patsubst $(VZ)/framework/%,$(VZ_BUILD)/framework/%.o,$(wildcard $(VZ)/framework/*.m $(VZ)/framework/*.c))
$(VZ_BUILD)/framework/%.m.o: $(VZ)/framework/%.m $(BUILD)/flags | $(FIRST)
	@mkdir -p $(@D)
	$(call say,OBJC )$(CLANG) $(CPPFLAGS) $(VZ_CFLAGS) -fPIE -DVZ_STANDIN_IMPLEMENTATION \
		-DSTANDIN_KEEPER='"$(abspath $(VZ_BUILD))/vz-keeper"' -MMD -MP -c -o $@ $<
$(VZ_BUILD)/framework/%.c.o: $(VZ)/framework/%.c $(BUILD)/flags | $(FIRST)
	@mkdir -p $(@D)
	$(call say,CC   )$(CC) $(CPPFLAGS) $(BASE_CFLAGS) -O2 -fPIE -MMD -MP -c -o $@ $<

# In one piece: of an archive's members a linker takes those that somebody names, and nobody names a category.
$(VZ_BUILD)/Virtualization.o: $(VZ_OBJECTS)
	$(call say,LD   )ld -r -o $@ $^
$(VZ_LIB): $(VZ_BUILD)/Virtualization.o
	@rm -f $@
	$(call say,AR   )$(AR) qcsD $@ $^

VZ_KEEPER := $(patsubst $(VZ)/keeper/%.c,$(VZ_BUILD)/keeper/%.o,$(wildcard $(VZ)/keeper/*.c))
$(VZ_BUILD)/keeper/%.o: $(VZ)/keeper/%.c $(BUILD)/flags | $(FIRST)
	@mkdir -p $(@D)
	$(call say,CC   )$(CC) $(CPPFLAGS) $(BASE_CFLAGS) -O2 -fPIC -MMD -MP -c -o $@ $<
# With the vsock device that the stand-in for Firecracker has.
$(VZ_BUILD)/vz-keeper: $(VZ_KEEPER) $(patsubst %.c,$(BUILD)/standin/%.o,$(STANDIN_SOURCES))
	$(call say,LD   )$(CC) -o $@ $^ -ljansson

VZ_SELFTESTS := $(VZ_BUILD)/selftest $(VZ_BUILD)/selftest_mac
$(VZ_BUILD)/selftest%: $(VZ)/selftest%.m $(VZ_LIB) $(VZ_BUILD)/vz-keeper
	$(call say,OBJC )$(CLANG) $(CPPFLAGS) $(VZ_CFLAGS) -MMD -MP -o $@ $< $(VZ_LIBS)
$(VZ_BUILD)/selftest: $(VZ)/selftest.m $(VZ_LIB) $(VZ_BUILD)/vz-keeper
	$(call say,OBJC )$(CLANG) $(CPPFLAGS) $(VZ_CFLAGS) -MMD -MP -o $@ $< $(VZ_LIBS)

standin: $(VZ_LIB) $(VZ_BUILD)/vz-keeper $(VZ_SELFTESTS)
