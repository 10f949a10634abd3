# SPDX-License-Identifier: MIT
# What is built with a cross compiler: programs for arm64, and the supervisor for Windows.

# --- the other architecture ----------------------------------------------------------------------

CROSS_MAKE = +$(MAKE) --no-print-directory CROSS_BUILD=1 SANITIZE= BUILD=$(BUILD)/arm64 AR=$(CROSS)ar OBJCOPY=$(CROSS)objcopy \
	CC='$(if $(findstring ccache,$(CC)),ccache )$(CROSS)gcc --sysroot=$(abspath $(SYSROOT))'

sysroot: | $(FIRST)
	@scripts/fetch-sysroot.sh $(SYSROOT)

ifdef FOREIGN_INIT
$(FOREIGN_INIT): $(wildcard src/guest/*.[ch] src/guest/*/*.[ch] src/base/*.[ch] src/base/*/*.[ch] src/base/*/*/*.[ch]) | sysroot
	$(CROSS_MAKE) $(BUILD)/arm64/bin/microagent-init
	@mkdir -p $(@D)
	@cp $(BUILD)/arm64/bin/microagent-init $@
arm64-init: $(FOREIGN_INIT)
arm64: $(FOREIGN_INIT)
	$(CROSS_MAKE) all unit
else
arm64-init: $(BUILD)/bin/microagent-init
arm64: all unit
endif

# --- Windows -------------------------------------------------------------------------------------

# microagent-hyperv-supervisor, by a cross compiler: the contract, the pure files of base and supervisor that it
# shares with the others, and src/hyperv. Those files' formats are checked where they are compiled for this system;
# mingw-w64's compiler knows other ones.
MINGW := x86_64-w64-mingw32-
JANSSON := build/sources/jansson-2.14
PURE := $(filter-out src/contract/host_bounds.c,$(wildcard src/contract/*.c)) \
	$(patsubst %,src/base/%.c,architecture base64 buf clock_text cpio_search egress_rule error frame json json_text limits nearest path_name prefix print_safe utf8 utf8_reader) \
	$(patsubst %,src/supervisor/%.c,refusals live/control_message live/outcome live/result)
HYPERV := $(wildcard src/hyperv/*.c src/hyperv/*/*.c)
WINDOWS_OBJECTS := $(patsubst src/%.c,$(BUILD)/windows/obj/%.o,$(PURE) $(HYPERV))
WINDOWS_CPPFLAGS := -Isrc/hyperv/posix -isystem $(JANSSON)/src -isystem $(JANSSON)/android $(CPPFLAGS) \
		    -D_WIN32_WINNT=0x0A00 -D__USE_MINGW_ANSI_STDIO=1
WINDOWS_CFLAGS := -std=gnu17 -g -O2 $(WARNINGS)
WINDOWS_LIBS := -static -lws2_32 -lbcrypt -lshell32
JANSSON_FLAGS := -O2 -DHAVE_STDINT_H -DHAVE_SYS_TYPES_H -DHAVE_ATOMIC_BUILTINS -DUSE_WINDOWS_CRYPTOAPI \
		 -DINITIAL_HASHTABLE_ORDER=3 -I$(JANSSON)/src -I$(JANSSON)/android
JANSSON_SOURCES := $(patsubst %,$(JANSSON)/src/%.c,dump error hashtable hashtable_seed load memory pack_unpack strbuffer \
		   strconv utf value version)

$(JANSSON_SOURCES) &: scripts/fetch-jansson.sh | $(FIRST)
	scripts/fetch-jansson.sh build/sources
	@touch $(JANSSON_SOURCES)
$(BUILD)/windows/jansson/%.o: $(JANSSON)/src/%.c
	@mkdir -p $(@D)
	$(call say,WIN  )$(MINGW)gcc $(JANSSON_FLAGS) -c -o $@ $<
$(BUILD)/windows/libjansson.a: $(patsubst $(JANSSON)/src/%.c,$(BUILD)/windows/jansson/%.o,$(JANSSON_SOURCES))
	@rm -f $@
	$(call say,AR   )$(MINGW)gcc-ar qcsD $@ $^
$(patsubst src/%.c,$(BUILD)/windows/obj/%.o,$(PURE)): WINDOWS_CFLAGS += -Wno-format
$(BUILD)/windows/obj/%.o: src/%.c $(BUILD)/flags | $(JANSSON_SOURCES) $(FIRST)
	@mkdir -p $(@D)
	$(call say,WIN  )$(MINGW)gcc $(WINDOWS_CPPFLAGS) $(WINDOWS_CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/windows/microagent-hyperv-supervisor.exe: $(WINDOWS_OBJECTS) $(BUILD)/windows/libjansson.a
	$(call say,LD   )$(MINGW)gcc -o $@ $^ $(WINDOWS_LIBS)
windows: $(BUILD)/windows/microagent-hyperv-supervisor.exe
