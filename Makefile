# SPDX-License-Identifier: MIT
#
# make            build everything into build/bin
# make setup      what a fresh machine needs: Debian packages, the default kernel, the busybox image
# make run        boot a microVM and run a command in it
# make test       unit, fuzz (10 s a target) and end-to-end tests
# make install uninstall   below PREFIX (/usr/local)
# make deb        Debian packages, in build/deb
# make lists      what follows from tables: entries of schemas and manuals, parameters of Python
# make lint       clang-format check, clang-tidy, cppcheck, shellcheck, codespell
# make test ACCEL=kvm   the same, if the machines run under KVM here
# make guest-bundle   kernels, initrds and images for a host that builds none (a Mac): build/guest-bundle.tar.gz
# make arm64      programs and unit programs for arm64 with a cross compiler, in build/arm64, and the microagent-init
#                 that machines of arm64 boot, beside this system's own
# make windows    microagent-hyperv-supervisor.exe with a cross compiler, in build/windows
# make soak bench long tests, and the figures; make soak TESTS=alone   one stage: unit, fuzz, e2e (two workers), alone,
#                 ports, sanitized, newer-qemu
# make SANITIZE=1 ...   the same with ASan and UBSan, in build/sanitize
# make darwin-check   compile and link for macOS what a Mac runs of it, here; `make` on a Mac builds that
#
# Non-recursive: every folder of src/ and ports/ becomes one archive lib<folder>.a (its main.c left out), every
# program links its main.o with the archives of the layers below it. This file says what is built and with which flags;
# the rules are in mk/: programs, cross (the other architecture), tests, setup and install. What is for another system as
# a whole is in ports/, each with rules of its own in its build.mk.

VERSION := 0.1.0
# As many jobs as there are processors, unless the command line says how many. A make below this one takes its jobs from it.
ifeq ($(MAKELEVEL),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || sysctl -n hw.ncpu)
endif
# The system that is built for: `make PLATFORM=darwin` with a compiler for it builds what a Mac runs anywhere.
PLATFORM ?= $(if $(filter Darwin,$(shell uname -s)),darwin,linux)
OTHER_PLATFORMS := $(filter-out $(PLATFORM),linux darwin)
BUILD ?= build$(if $(SANITIZE),/sanitize)
ifeq ($(strip $(BUILD)),)
$(error BUILD is empty, and files below it are removed: name a folder, or leave BUILD out)
endif
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
CPPFLAGS += -Isrc -Iports -Iinclude -D_GNU_SOURCE -DMICROAGENT_VERSION='"$(VERSION)"'
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
FOLDERS := base contract store channel backend/parts applevf supervisor artifact guest-macos api session mcp cli
BACKENDS := applevf
OTHER_PROGRAMS := microagent-artifact microagent-macos-agent
ONLY_backend/parts := src/backend/parts/bounds.c
ONLY_artifact := $(addprefix src/artifact/,answer.c cpio_find.c digest.c progress.c sha256.c signals.c tool_path.c) \
	$(wildcard src/artifact/darwin/*.c)
ARTIFACT_LIBS := $(HOST_LIBS)
# The framework weakly, so that a program can say that it is missing.
SUPERVISOR_LIBS := -framework Foundation -weak_framework Virtualization -framework Security $(HOST_LIBS)
else
FOLDERS := base contract store channel backend/parts backend/qemu backend/firecracker applevf supervisor hyperv/machine vsockd netgate \
	   artifact guest guest-macos api session mcp cli oci/config oci
BACKENDS := qemu firecracker
OTHER_PROGRAMS := microagent-vsockd microagent-netgate microagent-artifact microagent-init microagent-oci
ARTIFACT_LIBS := -ljansson -larchive -lcrypto -lext2fs -lseccomp
SUPERVISOR_LIBS := $(HOST_LIBS) -lseccomp
endif
lib = $(BUILD)/lib/lib$(subst /,-,$(1)).a
# What is for another system as a whole: its tests and its stand-in are beside its sources, and are no part of it.
PORTS := $(patsubst ports/%/,%,$(wildcard ports/*/))
PORTS_TESTS := $(foreach p,$(PORTS),$(foreach d,tests standin,ports/$(p)/$(d) ports/$(p)/$(d)/%))
room = $(if $(filter $(PORTS),$(firstword $(subst /, ,$(1)))),ports,src)/$(1)
# A room with its wings. What is of one system alone is in a folder that is called after it, wherever that is.
wings = $(filter-out $(addprefix %/,$(OTHER_PLATFORMS)) $(PORTS_TESTS),$(patsubst %/,%,$(wildcard $(addprefix $(call room,$(1)),/ /*/ /*/*/ /*/*/*/))))
# Objective-C is for a Mac's frameworks. Of a folder that has ONLY_<folder> there are those files alone.
LANGUAGES := c $(if $(filter darwin,$(PLATFORM)),m)
sources = $(or $(ONLY_$(1)),$(filter-out %/main.c,$(wildcard $(foreach l,$(LANGUAGES),$(addsuffix /*.$(l),$(call wings,$(1)))))))
# A file of src/ or ports/ by its name in there, and what is compiled of it below a directory.
inside = $(patsubst ports/%,%,$(patsubst src/%,%,$(1)))
objects_in = $(patsubst %,$(1)/%.o,$(basename $(call inside,$(2))))
objects = $(call objects_in,$(BUILD)/obj,$(1))
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

# Not compiled: the program of python/ by its name among the others, and the library by the name that it is loaded by.
PERF := $(BUILD)/bin/microagent-perf $(if $(filter linux,$(PLATFORM)),$(BUILD)/lib/$(SONAME))

all: $(BINARIES) $(LIBRARIES) $(PERF)

# On a bare machine the packages come before the first compilation, whatever -j says.
NEEDS_PACKAGES := $(filter setup run test soak bench arm64 arm64-init windows standin-hyperv,$(MAKECMDGOALS))
FIRST := $(if $(NEEDS_PACKAGES),packages)

# moved_here: where files of ports/ were once. The dependencies of an older build say so: what was made of them is made again.
moved_here = $(foreach place,$(1),$(eval $(place)%: moved ;))
moved:

include mk/programs.mk mk/cross.mk mk/tests.mk $(wildcard ports/*/build.mk) mk/setup.mk mk/install.mk

# All that decides what an object becomes, beside its sources. Each object depends on the file, which is written when
# this text is another one: with other flags or another compiler everything is compiled again.
FLAGS = $(strip $(CC) $(shell $(CC) -dumpfullversion -dumpmachine 2>/dev/null) $(CPPFLAGS) $(BASE_CFLAGS) $(OPT) $(CFLAGS) $(OBJC_WARNINGS) \
	$(GUEST_CFLAGS) $(HOST_LDFLAGS) $(HOST_LIBS) $(GUEST_LDFLAGS) $(CLANG) $(FUZZ_CFLAGS) $(WINDOWS_CPPFLAGS) $(WINDOWS_CFLAGS))
FLAGS_NOW := $(subst $(CURDIR)/,,$(FLAGS))
ifneq ($(FLAGS_NOW),$(strip $(shell cat $(BUILD)/flags 2>/dev/null)))
.PHONY: $(BUILD)/flags
endif
$(BUILD)/flags:
	@mkdir -p $(@D)
	@printf '%s\n' '$(subst ','\'',$(FLAGS_NOW))' >$@

# How each file is compiled, for editors: clangd finds it in build/. It is written when a file is added or a flag changes.
compiled = $(foreach f,$(FOLDERS),$(wildcard $(addsuffix /*.c,$(call wings,$(f))))) $(UNIT_SOURCES)
COMMAND = $(CC) $(CPPFLAGS) -Itests/unit $(BASE_CFLAGS) $(OPT) $(CFLAGS)
$(BUILD)/compile_commands.json: $(BUILD)/flags $(foreach f,$(FOLDERS),$(call wings,$(f))) $(UNIT_PLACES)
	@printf '%s\n' $(sort $(compiled)) | sed -e 's|.*|{"directory": "$(CURDIR)", "file": "&", "command": "$(subst ','\'',$(subst ",\\",$(COMMAND))) -c &"}|' \
		-e '1s/^/[/; $$!s/$$/,/; $$s/$$/]/' >$@
all: $(BUILD)/compile_commands.json

clean:
	rm -rf $(BUILD)

# They come with the objects: else make would link one of what main-%.o gives for main-qemu.d.o.
%.d: ;
# Not of another system's own root (scripts/in-debian.sh), nor of a cache with images in the making, where invoke-rc.d is.
-include $(shell find $(BUILD) \( -name debian13 -o -path $(BUILD)/cache \) -prune -o -name '*.d' -type f -print 2>/dev/null)

.PHONY: all moved deb guest-bundle guest-bundle-place objects list-objects setup packages darwin-check sysroot arm64 arm64-init windows run unit fuzz test soak bench lint man install uninstall clean standin standin-hyperv lists
.DELETE_ON_ERROR:
.SECONDARY:
