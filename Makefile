# SPDX-License-Identifier: MIT
#
# make            build everything into build/bin
# make setup      what a fresh machine needs: Debian packages, the default kernel, the busybox image
# make run        boot a microVM and run a command in it
# make test       unit, fuzz (10 s a target) and end-to-end tests
# make install uninstall   below PREFIX (/usr/local)
# make deb        Debian packages, in build/deb
# make lint       clang-format check, clang-tidy, cppcheck, shellcheck, codespell
# make test ACCEL=kvm   the same, if the machines run under KVM here
# make guest-bundle   kernels, initrds and images for a host that builds none (a Mac): build/guest-bundle.tar.gz
# make arm64      programs and unit programs for arm64 with a cross compiler, in build/arm64, and the microagent-init
#                 that machines of arm64 boot, beside this system's own
# make windows    microagent-hyperv-supervisor.exe with a cross compiler, in build/windows
# make soak bench long tests, and the figures; make soak TESTS=alone   one stage: unit, fuzz, e2e (two workers), alone,
#                 sanitized, newer-qemu
# make SANITIZE=1 ...   the same with ASan and UBSan, in build/sanitize
# make darwin-check   compile and link for macOS what a Mac runs of it, here; `make` on a Mac builds that
#
# Non-recursive: every folder of src/ becomes one archive lib<folder>.a (its main.c left out), every
# program links its main.o with the archives of the layers below it.

VERSION := 0.1.0
# As many jobs as there are processors, unless the command line says how many. A make below this one takes its jobs from it.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
endif
# The system that is built for: `make PLATFORM=darwin` with a compiler for it builds what a Mac runs anywhere.
PLATFORM ?= $(if $(filter Darwin,$(shell uname -s)),darwin,linux)
OTHER_PLATFORMS := $(filter-out $(PLATFORM),linux darwin)
BUILD ?= build$(if $(SANITIZE),/sanitize)
ifeq ($(origin CC),default)
CC := gcc
endif
# Of a Mac's programs UNIVERSAL=1 makes those for both of its architectures, if its jansson is for both.
ifdef UNIVERSAL
override CC += -arch arm64 -arch x86_64
endif
CLANG ?= clang-$(shell . scripts/release.sh && echo $$llvm)
OBJCOPY ?= objcopy
# `make V=1` shows the whole commands.
say = $(if $(V),,@echo "  $(1) $(patsubst $(CURDIR)/%,%,$@)";)
PREFIX ?= /usr/local

# WERROR= for a compiler whose warnings nobody has seen yet.
WERROR ?= -Werror
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wformat=2 -Wcast-qual \
	    $(WERROR)
OBJC_WARNINGS := -Wall -Wextra -Wshadow -Wformat=2 $(WERROR) -Werror=objc-method-access -Werror=objc-property-implementation
CPPFLAGS += -Isrc -Iinclude -D_GNU_SOURCE -DMICROAGENT_VERSION='"$(VERSION)"'
, := ,
SANITIZERS := $(if $(SANITIZE),-fsanitize=address$(,)undefined)
OPT := $(if $(SANITIZE),-O1 -fno-omit-frame-pointer $(SANITIZERS) \
	-fno-sanitize-recover=undefined -DMICROAGENT_SANITIZE=1,-O2 $(if $(findstring _FORTIFY_SOURCE,$(CPPFLAGS)),,-D_FORTIFY_SOURCE=2))
BASE_CFLAGS := -std=gnu17 -g $(WARNINGS) -fstack-protector-strong -fvisibility=hidden
# What the library is made of can stand anywhere; programs are made of it too.
LIBRARY_FOLDERS := base contract store channel api session
HOST_CFLAGS = $(BASE_CFLAGS) $(OPT) $(if $(filter $(LIBRARY_FOLDERS),$(firstword $(subst /, ,$(patsubst $(BUILD)/obj/%,%,$@)))),-fPIC,-fPIE)
ifeq ($(PLATFORM),darwin)
HOST_LDFLAGS := $(SANITIZERS) $(LDFLAGS)
HOST_LIBS := -ljansson $(LDLIBS)
AR_FLAGS := qcs
else
HOST_LDFLAGS := -pie -Wl,-z,relro,-z,now,--as-needed $(SANITIZERS) $(LDFLAGS)
# In the programs themselves: a library that is loaded costs a short command as long as all that it does.
HOST_LIBS := -Wl,-Bstatic -ljansson -lmd -Wl,-Bdynamic
AR_FLAGS := qcsD
endif
# The guest's binary is static and runs as PID 1, where no sanitizer runtime can live.
GUEST_CFLAGS := $(BASE_CFLAGS) -Os -ffunction-sections -fdata-sections -fno-pie
GUEST_LDFLAGS := -static -no-pie -Wl,--gc-sections

# A Mac has the system's own VMM and no program that is Linux through and through. Of the artifact's files it has those that
# hash: what is booted there is made on Linux. Of the backends' parts it has what is pure.
ifeq ($(PLATFORM),darwin)
FOLDERS := base contract store channel backend/parts backend/applevf supervisor artifact guest-macos api session mcp cli
BACKENDS := applevf
OTHER_PROGRAMS := microagent-artifact microagent-macos-agent
ONLY_backend/parts := src/backend/parts/bounds.c
ONLY_artifact := $(addprefix src/artifact/,answer.c cpio_find.c digest.c progress.c sha256.c signals.c tool_path.c) \
	$(wildcard src/artifact/darwin/*.c)
ARTIFACT_LIBS := $(HOST_LIBS)
# The framework weakly, so that a program can say that it is missing.
SUPERVISOR_LIBS := -framework Foundation -weak_framework Virtualization -framework Security $(HOST_LIBS)
else
FOLDERS := base contract store channel backend/parts backend/qemu backend/firecracker backend/applevf supervisor hyperv/machine vsockd netgate \
	   artifact guest guest-macos api session mcp cli oci/config oci
BACKENDS := qemu firecracker
OTHER_PROGRAMS := microagent-vsockd microagent-netgate microagent-artifact microagent-init microagent-oci
ARTIFACT_LIBS := -ljansson -larchive -lcrypto -lext2fs -lseccomp
SUPERVISOR_LIBS := $(HOST_LIBS) -lseccomp
endif
lib = $(BUILD)/lib/lib$(subst /,-,$(1)).a
# A room with its wings. What is of one system alone is in a folder that is called after it, wherever that is.
wings = $(filter-out $(addprefix %/,$(OTHER_PLATFORMS)),$(patsubst %/,%,$(wildcard src/$(1)/ src/$(1)/*/ src/$(1)/*/*/ src/$(1)/*/*/*/)))
# Objective-C is for a Mac's frameworks. Of a folder that has ONLY_<folder> there are those files alone.
LANGUAGES := c $(if $(filter darwin,$(PLATFORM)),m)
sources = $(or $(ONLY_$(1)),$(filter-out %/main.c,$(wildcard $(foreach l,$(LANGUAGES),$(addsuffix /*.$(l),$(call wings,$(1)))))))
objects = $(patsubst src/%,$(BUILD)/obj/%.o,$(basename $(1)))
# What a program carries as C: files of schema/, what each backend does, and the library that is loaded into virtiofsd.
EMBEDDED := schemas backends $(if $(filter linux,$(PLATFORM)),virtiofsd_preload)
EMBEDDED_mcp := embedded/schemas.o
EMBEDDED_api := embedded/backends.o
EMBEDDED_backend/parts := $(if $(filter linux,$(PLATFORM)),embedded/virtiofsd_preload.o)

PROGRAMS := microagent $(BACKENDS:%=microagent-%-supervisor) $(OTHER_PROGRAMS)
BINARIES := $(addprefix $(BUILD)/bin/,$(PROGRAMS))

# A guest of another architecture than this system's has an init of its own. It needs a cross compiler and a
# sysroot: with both there it is made with the rest, and `make arm64-init` gets them first.
SYSROOT ?= build/sysroot-arm64
CROSS := aarch64-linux-gnu-
FOREIGN_INIT := $(if $(filter aarch64 arm64,$(shell uname -m))$(filter darwin,$(PLATFORM)),,$(BUILD)/bin/microagent-init-arm64)
HAVE_CROSS := $(and $(FOREIGN_INIT),$(wildcard $(SYSROOT)/.complete),$(shell command -v $(CROSS)gcc))
ifneq ($(or $(HAVE_CROSS),$(filter arm64 arm64-init test soak bench,$(MAKECMDGOALS))),)
BINARIES += $(FOREIGN_INIT)
endif
# Whoever is made by this very Makefile for the other architecture makes no third one.
ifdef CROSS_BUILD
BINARIES := $(filter-out $(FOREIGN_INIT),$(BINARIES))
endif

# The library: its name says which programs it can serve, and changes when a symbol or a struct does.
SONAME := libmicroagent.so.0
# LIBRARY_LINKS: name=target, beside it.
ifeq ($(PLATFORM),darwin)
LIBRARIES := $(BUILD)/lib/libmicroagent.0.dylib
LIBRARY_LINKS := libmicroagent.dylib=libmicroagent.0.dylib
else
LIBRARIES := $(BUILD)/lib/libmicroagent.so.$(VERSION) $(BUILD)/lib/libmicroagent.a
LIBRARY_LINKS := $(SONAME)=libmicroagent.so.$(VERSION) libmicroagent.so=$(SONAME)
endif

all: $(BINARIES) $(LIBRARIES)

# On a bare machine the packages come before the first compilation, whatever -j says.
NEEDS_PACKAGES := $(filter setup run test soak bench arm64 arm64-init windows standin-hyperv,$(MAKECMDGOALS))
FIRST := $(if $(NEEDS_PACKAGES),packages)

# --- objects and archives ------------------------------------------------------------------------

$(BUILD)/obj/%.o: src/%.c | $(FIRST)
	@mkdir -p $(@D)
	$(call say,CC   )$(CC) $(CPPFLAGS) $(HOST_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Reference counts by hand, as the stand-in's run time has no others.
$(BUILD)/obj/%.o: src/%.m
	@mkdir -p $(@D)
	$(call say,OBJC )$(CC) $(CPPFLAGS) $(OPT) -std=gnu17 -g $(OBJC_WARNINGS) -fblocks -fvisibility=hidden -MMD -MP -c -o $@ $<

define archive
$(call lib,$(1)): $(call objects,$(call sources,$(1))) $(addprefix $(BUILD)/obj/,$(EMBEDDED_$(1)))
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(call say,AR   )$$(AR) $(AR_FLAGS) $$@ $$^
endef
$(foreach f,$(FOLDERS),$(eval $(call archive,$(f))))

# All that folders are made of, and nothing linked: `make objects FOLDERS=base`.
OBJECTS = $(foreach f,$(FOLDERS),$(call objects,$(call sources,$(f))) $(addprefix $(BUILD)/obj/,$(EMBEDDED_$(f))))
objects: $(OBJECTS)
list-objects:
	@echo $(OBJECTS)

as_numbers = od -An -v -tx1 $(1) | sed 's/ *\([0-9a-f][0-9a-f]\)/0x\1,/g'

$(BUILD)/embedded/schemas.c: schema/mcp.json schema/defs.json
	@mkdir -p $(@D)
	$(call say,GEN  )for f in mcp defs; do \
		echo "extern const char schema_$$f[]; const char schema_$$f[] = {"; \
		$(call as_numbers,schema/$$f.json); \
		echo "0};"; \
	done >$@.new && mv $@.new $@
$(BUILD)/embedded/backends.c: src/api/backends.json
	@mkdir -p $(@D)
	$(call say,GEN  ){ echo "extern const char stored_backends[]; const char stored_backends[] = {"; \
		$(call as_numbers,$<); echo "0};"; } >$@.new && mv $@.new $@
# Small, since each share's cell has a copy; and without a sanitizer, whose runtime virtiofsd has not.
$(BUILD)/embedded/virtiofsd_preload.so: src/virtiofsd/preload.c | $(FIRST)
	@mkdir -p $(@D)
	$(call say,LD   )$(CC) $(CPPFLAGS) $(BASE_CFLAGS) -O2 -fPIC -shared -s -Wl,-z,noseparate-code,-z,relro,-z,now -o $@ $<
$(BUILD)/embedded/virtiofsd_preload.c: $(BUILD)/embedded/virtiofsd_preload.so
	$(call say,GEN  ){ echo '#include "backend/parts/virtiofsd.h"'; echo "const unsigned char virtiofsd_preload[] = {"; \
		$(call as_numbers,$<); echo "};"; echo "const size_t virtiofsd_preload_len = sizeof(virtiofsd_preload);"; } >$@.new && mv $@.new $@
$(BUILD)/obj/embedded/%.o: $(BUILD)/embedded/%.c | $(FIRST)
	@mkdir -p $(@D)
	$(call say,CC   )$(CC) $(CPPFLAGS) $(HOST_CFLAGS) $(CFLAGS) -c -o $@ $<

$(BUILD)/guest/%.o: src/%.c | $(FIRST)
	@mkdir -p $(@D)
	$(call say,CC   )$(CC) $(CPPFLAGS) $(GUEST_CFLAGS) -MMD -MP -c -o $@ $<

# --- programs ------------------------------------------------------------------------------------

# program: name, folder of its main.c, archives in link order, libraries
define program
$(BUILD)/bin/$(1): $(BUILD)/obj/$(2)/main.o $(foreach l,$(3),$(call lib,$(l)))
	@mkdir -p $$(@D)
	$$(call say,LD   )$$(CC) $$(HOST_LDFLAGS) -o $$@ $$^ $(4)
endef
$(eval $(call program,microagent,cli,cli mcp session api channel store contract base,$(HOST_LIBS)))

# On a Mac a program may make machines only if it is signed for that, which anybody may do (ad hoc).
ifeq ($(PLATFORM),darwin)
CODESIGN ?= codesign
SIGN = $(CODESIGN) --force --sign - --entitlements src/backend/applevf/entitlements.plist $@
endif

# A supervisor for each backend: the same objects, and a main.o that names its struct.
$(BUILD)/obj/supervisor/main-%.o: src/supervisor/main.c | $(FIRST)
	@mkdir -p $(@D)
	$(call say,CC   )$(CC) $(CPPFLAGS) -DBACKEND=$* $(HOST_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
define supervisor
$(BUILD)/bin/microagent-$(1)-supervisor: $(BUILD)/obj/supervisor/main-$(1).o \
		$(foreach l,supervisor backend-$(1) backend-parts channel store contract base,$(call lib,$(l)))
	@mkdir -p $$(@D)
	$$(call say,LD   )$$(CC) $$(HOST_LDFLAGS) -o $$@ $$^ $$(SUPERVISOR_LIBS)
	$$(SIGN)
endef
$(foreach b,$(BACKENDS),$(eval $(call supervisor,$(b))))

$(eval $(call program,microagent-vsockd,vsockd,vsockd base,-lseccomp))
ifneq ($(PLATFORM),darwin)
$(eval $(call program,microagent-oci,oci,oci oci-config api channel store contract base,$(HOST_LIBS) -Wl$(,)-Bstatic -lseccomp -Wl$(,)-Bdynamic))
endif
# For macOS guests. On Linux it is made for tests alone (standin).
$(eval $(call program,microagent-macos-agent,guest-macos,guest-macos base,$(HOST_LIBS)))
$(eval $(call program,microagent-netgate,netgate,netgate base,-lseccomp))
$(eval $(call program,microagent-artifact,artifact,artifact store contract base,$(ARTIFACT_LIBS)))

# Isolation is for daemons of the host; in the guest it would pull in a static libseccomp.
GUEST_SOURCES := $(filter-out src/base/platform/linux/isolate%.c %/sha256.c %/subids.c,$(call sources,base) $(call sources,guest) src/guest/main.c)
GUEST_OBJECTS := $(patsubst src/%.c,$(BUILD)/guest/%.o,$(GUEST_SOURCES))
$(BUILD)/bin/microagent-init: $(GUEST_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LD   )$(CC) $(GUEST_LDFLAGS) -s -o $@ $^ -ljansson

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
$(BUILD)/windows/obj/%.o: src/%.c | $(JANSSON_SOURCES) $(FIRST)
	@mkdir -p $(@D)
	$(call say,WIN  )$(MINGW)gcc $(WINDOWS_CPPFLAGS) $(WINDOWS_CFLAGS) -MMD -MP -c -o $@ $<
$(BUILD)/windows/microagent-hyperv-supervisor.exe: $(WINDOWS_OBJECTS) $(BUILD)/windows/libjansson.a
	$(call say,LD   )$(MINGW)gcc -o $@ $^ $(WINDOWS_LIBS)
windows: $(BUILD)/windows/microagent-hyperv-supervisor.exe

# --- the library ---------------------------------------------------------------------------------

# Isolation is for daemons; here it would pull in libseccomp.
LIBRARY_OBJECTS := $(foreach f,$(LIBRARY_FOLDERS),$(call objects,$(filter-out src/base/platform/linux/isolate%.c,$(call sources,$(f)))) \
	$(addprefix $(BUILD)/obj/,$(EMBEDDED_$(f))))

$(BUILD)/lib/libmicroagent.so.$(VERSION): $(LIBRARY_OBJECTS) src/api/exported.map
	@mkdir -p $(@D)
	$(call say,LD   )$(CC) $(filter-out -pie,$(HOST_LDFLAGS)) -shared -Wl,-soname,$(SONAME) -Wl,-z,defs \
		-Wl,--version-script=src/api/exported.map -o $@ $(LIBRARY_OBJECTS) -ljansson -lmd

# What is hidden stays so; the public names are marked in their headers.
$(BUILD)/lib/libmicroagent.0.dylib: $(LIBRARY_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LD   )$(CC) $(HOST_LDFLAGS) -dynamiclib -install_name $(LIBDIR)/$(@F) -o $@ $^ $(HOST_LIBS)

# One object in which every name but the public ones is local, so that no program's own clash with them.
$(BUILD)/lib/libmicroagent.o: $(LIBRARY_OBJECTS)
	@mkdir -p $(@D)
	$(call say,LD   )$(CC) -r -nostdlib -o $@ $^
	@$(OBJCOPY) --localize-hidden $@
$(BUILD)/lib/libmicroagent.a: $(BUILD)/lib/libmicroagent.o
	@rm -f $@
	$(call say,AR   )$(AR) $(AR_FLAGS) $@ $^

# --- tests ---------------------------------------------------------------------------------------

ALL_LIBS := $(foreach f,$(filter-out guest guest-macos vsockd netgate,$(FOLDERS)),$(call lib,$(f)))
LINK_ALL := -Wl,--start-group $(ALL_LIBS) -Wl,--end-group -ljansson -larchive -lcrypto -lext2fs -lmd -lseccomp
# guest, vsockd and netgate are programs of their own, whose names may be those of other programs' parts; their
# tests link with them and base alone.
UNIT := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/test_*.c))

define lone_test
$(BUILD)/unit/test_$(subst -,_,$(1))_%: tests/unit/test_$(subst -,_,$(1))_%.c $(call lib,$(1)) $(call lib,base)
	@mkdir -p $$(@D)
	$$(call say,TEST )$$(CC) $$(CPPFLAGS) -Itests/unit $$(HOST_CFLAGS) -MMD -MP $$(HOST_LDFLAGS) -o $$@ $$< \
		$(call lib,$(1)) $(call lib,base) -ljansson -lseccomp -lcmocka
endef
$(foreach f,guest guest-macos vsockd netgate,$(eval $(call lone_test,$(f))))

$(BUILD)/unit/%: tests/unit/%.c $(ALL_LIBS)
	@mkdir -p $(@D)
	$(call say,TEST )$(CC) $(CPPFLAGS) -Itests/unit $(HOST_CFLAGS) -MMD -MP $(HOST_LDFLAGS) -o $@ $< $(LINK_ALL) -lcmocka

unit: $(UNIT)

# The stand-in for Firecracker has the vsock device in its own process, a Python's, where no sanitizer's runtime is.
STANDIN_SOURCES := tests/standin/firecracker/vsock.c src/backend/qemu/tsc.c \
	$(filter-out src/base/platform/linux/isolate%.c %/sha256.c src/vsockd/isolate.c src/vsockd/seccomp.c src/vsockd/options.c,$(call sources,vsockd) $(call sources,base))
$(BUILD)/standin/%.o: %.c | $(FIRST)
	@mkdir -p $(@D)
	$(call say,CC   )$(CC) $(CPPFLAGS) $(BASE_CFLAGS) -O2 -fPIC -MMD -MP -c -o $@ $<
$(BUILD)/standin/libvsock.so: $(patsubst %.c,$(BUILD)/standin/%.o,$(STANDIN_SOURCES))
	@mkdir -p $(@D)
	$(call say,LD   )$(CC) -shared -Wl,-z,defs -Wl,--as-needed -o $@ $^ -ljansson

# The agent of macOS guests, for a guest of Linux that stands in for one.
$(BUILD)/standin/microagent-macos-agent: $(patsubst src/%.c,$(BUILD)/guest/%.o,$(filter src/base/%,$(GUEST_SOURCES)) \
		$(call sources,guest-macos) src/guest-macos/main.c)
	@mkdir -p $(@D)
	$(call say,LD   )$(CC) $(GUEST_LDFLAGS) -Wl,--no-warnings -s -o $@ $^ -ljansson

standin: $(BUILD)/standin/microagent-macos-agent
standin: $(BUILD)/standin/libvsock.so
include tests/standin/virtualization/rules.mk

# The supervisor of Macs, on the stand-in for the framework: its Objective-C is compiled by clang for GNUstep's run time.
STANDIN_APPLEVF := $(BUILD)/standin/bin/microagent-applevf-supervisor
APPLEVF_SOURCES := $(wildcard src/backend/applevf/*.m)
APPLEVF_LIBS := $(foreach l,supervisor backend-applevf backend-parts channel store contract base,$(call lib,$(l)))
$(BUILD)/standin/obj/%.o: src/%.m | $(FIRST)
	@mkdir -p $(@D)
	$(call say,OBJC )$(CLANG) $(CPPFLAGS) $(VZ_CFLAGS) $(OBJC_WARNINGS) -fPIE -MMD -MP -c -o $@ $<
$(STANDIN_APPLEVF): $(BUILD)/obj/supervisor/main-applevf.o $(APPLEVF_SOURCES:src/%.m=$(BUILD)/standin/obj/%.o) \
		$(APPLEVF_LIBS) $(VZ_LIB)
	@mkdir -p $(@D)
	$(call say,LD   )$(CLANG) -pie -o $@ $(filter %.o,$^) $(APPLEVF_LIBS) $(VZ_LIBS) -ljansson -lmd -lseccomp
	@ln -sf $(abspath $(BUILD)/bin)/microagent-artifact $(@D)/ # which it looks for beside itself
standin: $(STANDIN_APPLEVF)

# The stand-in for Hyper-V: computecore.dll and, to be linked into a client, hvsocket_loopback.o, which takes the place of
# Winsock's imports: the supervisor that is tested is made of the objects of the shipped one and of that. hcs-worker and
# hcs-probe are the stand-in's own.
STANDIN_WINDOWS := $(BUILD)/windows/standin
HYPERV_DLL := $(patsubst %,$(STANDIN_WINDOWS)/%.o,operations systems host service delivery handles text)
$(STANDIN_WINDOWS)/%.o: tests/standin/hyperv/%.c | $(FIRST)
	@mkdir -p $(@D)
	$(call say,WIN  )$(MINGW)gcc $(WINDOWS_CFLAGS) -MMD -MP -c -o $@ $<
$(STANDIN_WINDOWS)/computecore.dll: $(HYPERV_DLL) tests/standin/hyperv/computecore.def
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

# Fuzz targets and all they link are built by clang with coverage, apart from everything else.
FUZZ_BUILD := $(BUILD)/fuzz
FUZZ := $(patsubst tests/fuzz/%.c,$(FUZZ_BUILD)/bin/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_CFLAGS := -std=gnu17 -g -O1 -fsanitize=fuzzer-no-link,address,undefined \
	       -fno-sanitize-recover=undefined -DMICROAGENT_FUZZ=1 -DMICROAGENT_SANITIZE=1
fuzz_objects = $(patsubst src/%.c,$(FUZZ_BUILD)/obj/%.o,$(foreach f,$(1),$(call sources,$(f))))

$(FUZZ_BUILD)/obj/%.o: src/%.c | $(FIRST)
	@mkdir -p $(@D)
	$(call say,FUZZ )$(CLANG) $(CPPFLAGS) $(FUZZ_CFLAGS) -MMD -MP -c -o $@ $<
$(FUZZ_BUILD)/obj/embedded/%.o: $(BUILD)/embedded/%.c | $(FIRST)
	@mkdir -p $(@D)
	$(call say,FUZZ )$(CLANG) $(CPPFLAGS) $(FUZZ_CFLAGS) -c -o $@ $<
$(FUZZ_BUILD)/libhost.a: $(call fuzz_objects,$(filter-out guest guest-macos,$(FOLDERS))) $(EMBEDDED:%=$(FUZZ_BUILD)/obj/embedded/%.o)
$(FUZZ_BUILD)/libguest.a: $(call fuzz_objects,guest base)
$(FUZZ_BUILD)/libguest-macos.a: $(call fuzz_objects,guest-macos base)
$(FUZZ_BUILD)/lib%.a:
	@rm -f $@
	$(call say,AR   )$(AR) $(AR_FLAGS) $@ $^
fuzz_link = $(call say,FUZZ )$(CLANG) $(CPPFLAGS) $(FUZZ_CFLAGS) -fsanitize=fuzzer -MMD -MP -o $@ $< \
	$(FUZZ_BUILD)/lib$(1).a -ljansson -larchive -lcrypto -lext2fs -lmd -lseccomp
$(FUZZ_BUILD)/bin/fuzz_agent_%: tests/fuzz/fuzz_agent_%.c $(FUZZ_BUILD)/libguest.a
	@mkdir -p $(@D)
	$(call fuzz_link,guest)
$(FUZZ_BUILD)/bin/fuzz_macos_%: tests/fuzz/fuzz_macos_%.c $(FUZZ_BUILD)/libguest-macos.a
	@mkdir -p $(@D)
	$(call fuzz_link,guest-macos)
$(FUZZ_BUILD)/bin/%: tests/fuzz/%.c $(FUZZ_BUILD)/libhost.a
	@mkdir -p $(@D)
	$(call fuzz_link,host)
fuzz: $(FUZZ)

# These files are carried inside the object.
$(BUILD)/obj/artifact/recipes.o $(FUZZ_BUILD)/obj/artifact/recipes.o: images/kernel/tuned.config images/kernel/tuned-arm64.config \
	images/debian/packages

test: setup all unit standin standin-hyperv $(if $(SANITIZE),,fuzz)
	BUILD=$(BUILD) SANITIZE=$(SANITIZE) ACCEL=$(ACCEL) /usr/bin/python3 tests/run.py $(TESTS)

soak: setup all unit standin standin-hyperv fuzz $(if $(if $(TESTS),$(filter e2e %test_arm64_unit.py,$(TESTS)),all),arm64)
	$(if $(if $(TESTS),$(filter sanitized,$(TESTS)),all),+$(MAKE) SANITIZE=1 BUILD=$(BUILD)/sanitize all)
	BUILD=$(BUILD) /usr/bin/python3 tests/run.py --soak $(TESTS)

bench: setup standin
	BUILD=$(BUILD) ACCEL=$(ACCEL) /usr/bin/python3 tests/bench/run.py $(if $(STORE),--store) $(BENCH)

lint:
	scripts/install-packages.sh lint windows
	scripts/lint.sh

darwin-check:
	scripts/install-packages.sh darwin
	scripts/darwin-check.sh

# --- a fresh machine -----------------------------------------------------------------------------

packages:
	scripts/install-packages.sh run $(if $(filter test soak bench,$(MAKECMDGOALS)),test arm64 engines) $(filter bench,$(MAKECMDGOALS)) \
		$(if $(filter deb test soak,$(MAKECMDGOALS)),deb) \
		$(if $(filter arm64 arm64-init,$(MAKECMDGOALS)),arm64) $(if $(filter soak,$(MAKECMDGOALS)),$(if $(MICROAGENT_RUNTIME_TOOLS),validation)) \
		$(if $(filter test soak windows standin-hyperv,$(MAKECMDGOALS)),windows)

setup: packages $(BINARIES)
	$(BUILD)/bin/microagent setup
	$(if $(filter test soak bench,$(MAKECMDGOALS)),$(BUILD)/bin/microagent kernel install --arch arm64)
	$(if $(filter test soak bench,$(MAKECMDGOALS)),$(BUILD)/bin/microagent image build busybox --arch arm64)

# For a host that builds none of it (docs/applevf.md): kernels of both architectures, their initrds, and the images that
# are named, as a directory and as an archive that keeps holes. KERNELS and IMAGES are names or kinds of the cache, where
# all but Debian's kernels and busybox are to be already.
GUEST_BUNDLE ?= $(BUILD)/guest-bundle
KERNELS ?= debian
IMAGES ?= busybox
# What is no bundle is somebody's; said before anything is made.
guest-bundle-place:
	@if [ -e $(GUEST_BUNDLE) ] && ! [ -f $(GUEST_BUNDLE)/manifest.json ]; then \
		echo "make: $(GUEST_BUNDLE) is there, and is no guest bundle" >&2; exit 1; \
	fi

guest-bundle: guest-bundle-place setup arm64-init
	for arch in amd64 arm64; do \
		$(BUILD)/bin/microagent kernel install --arch $$arch && \
		$(BUILD)/bin/microagent image build --arch $$arch busybox || exit; \
	done
	rm -rf $(GUEST_BUNDLE).new
	$(BUILD)/bin/microagent guest-bundle make $(KERNELS:%=--kernel %) $(IMAGES:%=--image %) $(GUEST_BUNDLE).new
	rm -rf $(GUEST_BUNDLE)
	mv $(GUEST_BUNDLE).new $(GUEST_BUNDLE)
	tar -C $(dir $(GUEST_BUNDLE)) --sparse -czf $(GUEST_BUNDLE).tar.gz $(notdir $(GUEST_BUNDLE))

run: setup
	$(BUILD)/bin/microagent run -- sh -c 'echo "hello from $$(uname -sr) as $$(id -un)"'

DOCS := $(patsubst docs/%.scd,$(BUILD)/man/%,$(wildcard docs/*.scd))
# A page with tables says so in its first line, as man(1) asks for it.
$(BUILD)/man/%: docs/%.scd
	@mkdir -p $(@D)
	scdoc < $< > $@.tmp
	@{ ! grep -q '^\.TS' $@.tmp || printf '%s\n' "'\\\" t"; cat $@.tmp; } > $@ && rm $@.tmp
man: $(DOCS)

LIBDIR ?= $(PREFIX)/lib
# SOURCE=PLACE of what completes our words in the shells.
ZSH_COMPLETIONS ?= $(PREFIX)/share/zsh/site-functions
COMPLETIONS := $(addprefix src/cli/complete/,microagent.bash=$(PREFIX)/share/bash-completion/completions/microagent \
	       _microagent=$(ZSH_COMPLETIONS)/_microagent microagent.fish=$(PREFIX)/share/fish/vendor_completions.d/microagent.fish)
INSTALL_DIRS := $(PREFIX)/bin $(LIBDIR)/pkgconfig $(PREFIX)/include/microagent \
		$(addprefix $(PREFIX)/share/man/man,1 3 5 8) $(PREFIX)/share/microagent/recipes

install: all man
	install -d $(addprefix $(DESTDIR),$(INSTALL_DIRS))
	install -m 755 $(BINARIES) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(LIBRARIES) $(DESTDIR)$(LIBDIR)
	$(foreach l,$(LIBRARY_LINKS),ln -sf $(lastword $(subst =, ,$(l))) $(DESTDIR)$(LIBDIR)/$(firstword $(subst =, ,$(l))) &&) true
	install -m 644 include/microagent.h include/microagent_session.h $(DESTDIR)$(PREFIX)/include
	install -m 644 include/microagent/error.h include/microagent/exec.h $(DESTDIR)$(PREFIX)/include/microagent
	sed -e 's,@PREFIX@,$(PREFIX),; s,@LIBDIR@,$(LIBDIR),; s,@VERSION@,$(VERSION),' src/api/microagent.pc.in \
		>$(DESTDIR)$(LIBDIR)/pkgconfig/microagent.pc
	install -m 755 images/recipes/*.sh $(DESTDIR)$(PREFIX)/share/microagent/recipes
	$(foreach c,$(COMPLETIONS),install -D -m 644 $(subst =, $(DESTDIR),$(c)) &&) true
	install -m 644 $(filter %.1,$(DOCS)) $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(filter %.3,$(DOCS)) $(DESTDIR)$(PREFIX)/share/man/man3
	install -m 644 $(filter %.5,$(DOCS)) $(DESTDIR)$(PREFIX)/share/man/man5
	install -m 644 $(filter %.8,$(DOCS)) $(DESTDIR)$(PREFIX)/share/man/man8

# What `base create --from-ipsw` puts on the disks of macOS guests.
ifeq ($(PLATFORM),darwin)
MACOS_AGENT := $(BUILD)/bin/microagent-macos-agent $(addprefix images/macos/,microagent-start microagent.agent.plist microagent-install-macos-agent)
install: install-macos-agent
install-macos-agent: $(MACOS_AGENT)
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/microagent/macos
	install -m 755 images/macos/microagent-put-macos-agent $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(MACOS_AGENT) $(DESTDIR)$(PREFIX)/share/microagent/macos
endif

# With the PREFIX, LIBDIR and DESTDIR of the installation. Directories that hold others' files stay.
INSTALLED := $(addprefix $(PREFIX)/bin/,$(PROGRAMS) microagent-init-arm64) \
	$(addprefix $(LIBDIR)/,$(notdir $(LIBRARIES)) $(foreach l,$(LIBRARY_LINKS),$(firstword $(subst =, ,$(l)))) pkgconfig/microagent.pc) \
	$(addprefix $(PREFIX)/include/,microagent.h microagent_session.h microagent/error.h \
		microagent/exec.h) \
	$(foreach d,$(notdir $(DOCS)),$(PREFIX)/share/man/man$(patsubst .%,%,$(suffix $(d)))/$(d)) \
	$(addprefix $(PREFIX)/share/microagent/recipes/,$(notdir $(wildcard images/recipes/*.sh))) \
	$(foreach c,$(COMPLETIONS),$(lastword $(subst =, ,$(c)))) \
	$(if $(MACOS_AGENT),$(PREFIX)/bin/microagent-put-macos-agent $(addprefix $(PREFIX)/share/microagent/macos/,$(notdir $(MACOS_AGENT))))

# Of this tree as it is, in a copy, since what builds packages cleans up before. Without those of debug symbols, so that
# `apt install ./*.deb` has what a user wants; with Debian's programs, whatever else is in PATH.
DEB_SOURCE := $(BUILD)/deb/microagent-$(VERSION)
deb: packages
	rm -rf $(BUILD)/deb
	mkdir -p $(DEB_SOURCE)
	tar -c --exclude-vcs --exclude=./build --exclude=./$(BUILD) --exclude=__pycache__ --exclude='.pytest_cache' . | tar -x -C $(DEB_SOURCE)
	cd $(DEB_SOURCE) && env -u MAKEFLAGS -u MAKELEVEL -u BUILD PATH=/usr/sbin:/usr/bin:/sbin:/bin DEB_BUILD_OPTIONS="parallel=$$(nproc) noautodbgsym" dpkg-buildpackage -us -uc
	rm -rf $(DEB_SOURCE)
	@ls $(BUILD)/deb/*.deb

uninstall:
	rm -f $(addprefix $(DESTDIR),$(INSTALLED))
	-rmdir $(addprefix $(DESTDIR)$(PREFIX)/,share/microagent/recipes $(if $(MACOS_AGENT),share/microagent/macos) share/microagent include/microagent)

clean:
	rm -rf $(BUILD)

# They come with the objects: else make would link one of what main-%.o gives for main-qemu.d.o.
%.d: ;
# Not of another system's own root (scripts/in-debian.sh).
-include $(shell find $(BUILD) -name debian13 -prune -o -name '*.d' -type f -print 2>/dev/null)

.PHONY: all deb guest-bundle guest-bundle-place objects list-objects setup packages darwin-check sysroot arm64 arm64-init windows run unit fuzz test soak bench lint man install uninstall clean standin standin-hyperv
.DELETE_ON_ERROR:
.SECONDARY:
