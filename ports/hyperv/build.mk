# SPDX-License-Identifier: MIT
# microagent-hyperv-supervisor for Windows, by a cross compiler: the contract, the pure files of base and supervisor that
# it shares with the others, and what is here. Those files' formats are checked where they are compiled for this system;
# mingw-w64's compiler knows other ones.
MINGW := x86_64-w64-mingw32-
JANSSON := build/sources/jansson-2.14
PURE := $(filter-out src/contract/host_bounds.c,$(wildcard src/contract/*.c)) \
	$(patsubst %,src/base/%.c,architecture base64 buf clock_text cpio_search egress_rule error frame json json_text limits nearest path_name prefix print_safe utf8 utf8_reader) \
	$(patsubst %,src/supervisor/%.c,refusals live/control_message live/outcome live/result)
HYPERV := $(filter-out $(PORTS_TESTS),$(wildcard ports/hyperv/*.c ports/hyperv/*/*.c))
WINDOWS_OBJECTS := $(call objects_in,$(BUILD)/windows/obj,$(PURE) $(HYPERV))
WINDOWS_CPPFLAGS := -Iports/hyperv/posix -isystem $(JANSSON)/src -isystem $(JANSSON)/android $(CPPFLAGS) \
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
$(call objects_in,$(BUILD)/windows/obj,$(PURE)): WINDOWS_CFLAGS += -Wno-format
define windows_below
$(BUILD)/windows/obj/%.o: $(1)/%.c $(BUILD)/flags | $(JANSSON_SOURCES) $(FIRST)
	@mkdir -p $$(@D)
	$$(call say,WIN  )$$(MINGW)gcc $$(WINDOWS_CPPFLAGS) $$(WINDOWS_CFLAGS) -MMD -MP -c -o $$@ $$<
endef
$(foreach place,ports src,$(eval $(call windows_below,$(place))))
$(BUILD)/windows/microagent-hyperv-supervisor.exe: $(WINDOWS_OBJECTS) $(BUILD)/windows/libjansson.a
	$(call say,LD   )$(MINGW)gcc -o $@ $^ $(WINDOWS_LIBS)
windows: $(BUILD)/windows/microagent-hyperv-supervisor.exe

# The stand-in for Hyper-V: computecore.dll and, to be linked into a client, hvsocket_loopback.o, which takes the place of
# Winsock's imports: the supervisor that is tested is made of the objects of the shipped one and of that. hcs-worker and
# hcs-probe are the stand-in's own.
STANDIN_WINDOWS := $(BUILD)/windows/standin
HYPERV_DLL := $(patsubst %,$(STANDIN_WINDOWS)/%.o,operations systems host service delivery handles text)
$(STANDIN_WINDOWS)/%.o: ports/hyperv/standin/%.c $(BUILD)/flags | $(FIRST)
	@mkdir -p $(@D)
	$(call say,WIN  )$(MINGW)gcc $(WINDOWS_CFLAGS) -MMD -MP -c -o $@ $<
$(STANDIN_WINDOWS)/computecore.dll: $(HYPERV_DLL) ports/hyperv/standin/computecore.def
	$(call say,WIN  )$(MINGW)gcc -shared -static -o $@ $^ -lws2_32
$(STANDIN_WINDOWS)/hcs-worker.exe: $(STANDIN_WINDOWS)/worker.o
	$(call say,WIN  )$(MINGW)gcc -static -o $@ $^ -lws2_32
$(STANDIN_WINDOWS)/hcs-probe.exe: $(STANDIN_WINDOWS)/probe.o $(STANDIN_WINDOWS)/hvsocket_loopback.o
	$(call say,WIN  )$(MINGW)gcc -static -o $@ $^ -lcomputecore -lws2_32
$(STANDIN_WINDOWS)/microagent-hyperv-supervisor.exe: $(WINDOWS_OBJECTS) $(STANDIN_WINDOWS)/hvsocket_loopback.o \
		$(BUILD)/windows/libjansson.a
	$(call say,LD   )$(MINGW)gcc -o $@ $^ $(WINDOWS_LIBS)

standin-hyperv: $(BUILD)/standin/libvsock.so $(BUILD)/windows/microagent-hyperv-supervisor.exe \
		$(addprefix $(STANDIN_WINDOWS)/,computecore.dll hcs-worker.exe hcs-probe.exe microagent-hyperv-supervisor.exe)

$(call moved_here,src/hyperv/ tests/standin/hyperv/ tests/unit/test_hyperv_)
