# SPDX-License-Identifier: MIT
# What a fresh machine needs, and the guest bundle for a host that builds none of it.

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
