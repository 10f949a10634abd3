# SPDX-License-Identifier: MIT
# Manuals, the installation below PREFIX, and the Debian packages.

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
# The binding, with the program that is a part of it. pip and the Debian package have it where Python looks.
PYTHON_DIR := $(PREFIX)/share/microagent/python
PYTHON_FILES := $(patsubst python/%,%,$(wildcard python/microagent/*.py python/microagent/*/*.py))
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
	install -d $(DESTDIR)$(PYTHON_DIR)/microagent/_perf
	$(foreach f,$(PYTHON_FILES),install -m 644 python/$(f) $(DESTDIR)$(PYTHON_DIR)/$(f) &&) true
	install -m 755 python/microagent-perf $(DESTDIR)$(PYTHON_DIR)
	ln -sf ../share/microagent/python/microagent-perf $(DESTDIR)$(PREFIX)/bin/microagent-perf
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
INSTALLED := $(addprefix $(PREFIX)/bin/,$(PROGRAMS) microagent-init-arm64 microagent-perf) \
	$(addprefix $(PYTHON_DIR)/,$(PYTHON_FILES) microagent-perf) \
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
	-rmdir $(addprefix $(DESTDIR)$(PREFIX)/,$(addprefix share/microagent/,python/microagent/_perf python/microagent python recipes) $(if $(MACOS_AGENT),share/microagent/macos) share/microagent include/microagent)
