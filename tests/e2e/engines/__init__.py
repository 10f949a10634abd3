# SPDX-License-Identifier: MIT
"""Container engines as people have them (containerd, podman, Docker, Kubernetes' interface to containerd), each with its
own root, state and socket in a folder of the test's, and with the OCI runtime that MICROAGENT_OCI_RUNTIME names."""
