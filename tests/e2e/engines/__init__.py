# SPDX-License-Identifier: MIT
"""Container engines that people use (containerd, podman, Docker, Kubernetes' interface to containerd). Each has its own
root, state and socket in a folder of the test, and uses the OCI runtime that MICROAGENT_OCI_RUNTIME names."""
