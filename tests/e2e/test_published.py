# SPDX-License-Identifier: MIT
"""Compares the stand-ins with independent copies of Apple's and Microsoft's own headers. A name, number, type or field
that the real system does not have makes one of these tests fail. A test is skipped, with the reason, if its package
is missing here."""

import ast
import re
import runpy
import subprocess

import pytest

from applevf import declared, header_text
from conftest import BUILD, HANG_S, ROOT
from hyperv_standin import STANDIN as HYPERV

FACTS = runpy.run_path(str(HYPERV / "facts.py"))


def published(name):
    done = subprocess.run([ROOT / "scripts/fetch-published.sh", name, BUILD / "published"], capture_output=True, text=True, check=False,
                          timeout=HANG_S)
    if done.returncode:
        pytest.skip(done.stderr.strip())
    return BUILD / "published" / name


# --- Apple ---------------------------------------------------------------------------------------------------------------


def test_constants_of_apple():
    """Each enumerator and each exported name of the stand-in's headers has its value in PyObjC's metadata."""
    metadata = ast.parse((published("pyobjc") / "Virtualization" / "_metadata.py").read_text())
    texts = {node.targets[0].id: node.value.value for node in metadata.body
             if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)}
    real = {tuple(pair.split("@")) for pair in re.findall(r"\w+@-?\d+", texts["enums"])}
    ours = {(name, str(eval(value, {"__builtins__": {}}))) for body in re.findall(r"NS_(?:ENUM|OPTIONS)\(\w+, \w+\) \{(.*?)\}", header_text(), re.S)
            for name, value in re.findall(r"(VZ\w+)(?: VZ_SINCE\([\d.]+\))? = ([^,\n]+),", body)}
    assert len(ours) > 30 and ours - real == set()
    exported = set(re.findall(r"^extern NSString \*const \w+ (VZ\w+);", header_text(), re.M))
    assert exported and exported <= set(re.findall(r"VZ\w+", texts["constants"]))


def test_selectors_of_apple():
    """Each class, protocol, superclass and selector of the stand-in's headers is among those of objc2's translation."""
    source = "\n".join(path.read_text() for path in sorted((published("objc2") / "source" / "generated").glob("*.rs")))
    source = re.sub(r"///.*", "", source)
    real, parents = {}, dict((name, parent) for parent, name in
                             re.findall(r"#\[unsafe\(super\((\w+)[^)]*\)\)\]\s+(?:#\[.*\]\s+)*pub struct (\w+)", source))
    for name, body in re.findall(r"^(?:impl|    pub unsafe trait) (\w+)[^{]*\{(.*?)^(?:    )?\}", source, re.S | re.M):
        for selector, arguments in re.findall(r"#\[unsafe\(method\(([\w:]+?)_?\)\)\].*?\bfn \w+(?:<[^>]*>)?\((.*?)\)(?: ->|;)", body, re.S):
            is_of_object = re.match(r"\s*(?:&|this\b)", arguments)
            real.setdefault(name, set()).add(selector if is_of_object else "+" + selector)
    wrong = []
    for name, members in declared(header_text()).items():
        for member in members:
            getter = member.rstrip("=")
            setter = {f"set{getter[0].upper()}{getter[1:]}:"} if member.endswith("=") else set()
            wrong += [f"{name} {selector}" for selector in {getter} | setter if selector not in real.get(name, ())]
    assert wrong == []
    ours = {(name, parent.replace("VZ_ROOT", "NSObject")) for name, parent in re.findall(r"@interface (VZ\w+) : (\w+)", header_text())}
    assert ours - set(parents.items()) == {("VZStandinObject", "NSObject")}


# --- Microsoft -----------------------------------------------------------------------------------------------------------


def windows_constants(*modules):
    """Returns {name: number, unsigned, or the text of a GUID}."""
    found = {}
    for module in modules:
        text = (published("windows") / "source" / "Windows" / "Win32" / module / "mod.rs").read_text()
        for name, number in re.findall(r"^pub const (\w+): [\w:]+ = (-?(?:0x)?[\dA-F]+)_?[ui]\d+", text, re.M):
            found[name] = int(number, 0) & 0xFFFFFFFF
        found.update((name, guid.replace("_", "-")) for name, guid in re.findall(r"^pub const (\w+): .*GUID::from_u128\(0x([\da-f_]+)\);", text, re.M))
    return found


def hresults(constants):
    """Returns {name: HRESULT}: of the HCS, and of errors of Windows by HRESULT_FROM_WIN32()."""
    codes = {name: number for name, number in constants.items() if name.startswith(("HCS_E_", "E_"))}
    return codes | {name: number if number >> 16 else 0x80070000 | number for name, number in constants.items() if name.startswith("ERROR_")}


def test_codes_of_windows():
    constants = windows_constants("Foundation", "Networking/WinSock", "System/Hypervisor", "System/HostComputeSystem")
    codes = hresults(constants)

    def real(name):
        guid = {"WILDCARD": "ZERO"}.get(name, name)
        for word in (name, name.replace("E_", "ERROR_", 1), "ERROR_" + name, "HV_GUID_" + guid):
            if word in codes or word in constants:
                return codes.get(word, constants.get(word))
        return None
    found = {name: value for name, value in FACTS.items() if name.startswith(("HCS_E_", "E_", "VHD_", "WSA")) or name in
             ("WILDCARD", "BROADCAST", "CHILDREN", "LOOPBACK", "PARENT")}
    assert len(found) > 25
    assert {name: value for name, value in found.items() if value != real(name)} == {}
    assert FACTS["EVENT_SYSTEM_EXITED"] == constants["HcsEventSystemExited"]
    assert "00000000" + FACTS["VSOCK_TEMPLATE"] == constants["HV_GUID_VSOCK_TEMPLATE"]
    library = re.findall(r"#define (HCS_E_\w+) HCS_E_TEXT\((0x\w+)\)", (HYPERV / "handles.h").read_text())
    assert library and [(name, low) for name, low in library if 0x80370000 | int(low, 16) != codes.get(name)] == []
    machine = ROOT / "ports" / "hyperv" / "machine"
    named = re.findall(r"#define HCS_(\w+) UINT32_C\((0x\w+)\)", (machine / "hresult.h").read_text())
    assert named and [(name, code) for name, code in named if int(code, 16) != codes.get("HCS_E_" + name)] == []
    rows = re.findall(r"^\t\{(0x\w+), ERR_", (machine / "hresult.c").read_text(), re.M)
    assert len(rows) > 25 and [row for row in rows if int(row, 16) not in codes.values()] == []


RUST_TYPES = (("windows_sys::core::", ""), ("core::ffi::c_void", "void"), ("u32", "DWORD"), ("u64", "UINT64"))


def c_type(rust):
    rust = re.sub(r"(?:super::)+\w+:: ?", "", rust.strip())
    for theirs, ours in RUST_TYPES:
        rust = rust.replace(theirs, ours)
    return re.sub(r"^\*(const|mut) (.*)", lambda match: f"{'const ' if match[1] == 'const' else ''}{match[2]} *", rust)


def test_functions_of_windows(tmp_path):
    """Each function of the stand-in's library is one of computecore.dll, with the type of our compiler's header. So are
    the numbers that our sources use by name."""
    module = "System/HostComputeSystem"
    text = (published("windows") / "source" / "Windows" / "Win32" / module / "mod.rs").read_text()
    real = {name: (library, arguments, result) for library, name, arguments, result in
            re.findall(r'link!\("([\w.]+)" "system" fn (\w+)\((.*?)\)(?: -> ([^;]+))?\);', text)}
    library, exports = (HYPERV / "computecore.def").read_text().split("EXPORTS")
    assert library.split() == ["LIBRARY", "computecore.dll"]
    called = re.findall(r"X\((Hcs\w+)\)", (ROOT / "ports/hyperv/hcs/api.h").read_text())
    assert called and set(called) <= set(exports.split())
    lines = ["#include <winsock2.h>", "#include <windows.h>", "#include <computecore.h>", "#include <hvsocket.h>"]
    for name in exports.split():
        home, arguments, result = real[name]
        assert home == "computecore.dll"
        types = [c_type(argument.split(" : ")[1]) for argument in arguments.split(", ")]
        lines.append(f"{c_type(result) if result else 'void'} WINAPI {name}({', '.join(types)});")
    sources = "\n".join(path.read_text() for path in sorted((ROOT / "ports" / "hyperv").rglob("*.c")))
    constants = windows_constants(module, "System/Hypervisor")
    used = {word for word in re.findall(r"\w+", sources) if isinstance(constants.get(word), int)}
    assert {"HcsEventSystemExited", "HV_PROTOCOL_RAW", "HVSOCKET_CONNECT_TIMEOUT"} <= used
    lines += [f'_Static_assert((DWORD){name} == {constants[name]}u, "{name}");' for name in sorted(used)]
    (tmp_path / "published.c").write_text("\n".join(lines) + "\n")
    done = subprocess.run(["x86_64-w64-mingw32-gcc", "-D_WIN32_WINNT=0x0A00", "-fsyntax-only", tmp_path / "published.c"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    family = windows_constants("Networking/WinSock")["AF_HYPERV"]
    assert {int(number) for number in re.findall(r"#define AF_HYPERV (\d+)", sources)} == {family}


# Members that are on the schema's own pages (learn.microsoft.com/virtualization/api/hcs/schemareference) and not in
# hcsshim's structs.
NOT_IN_HCSSHIM = {
    "VirtualMachine": {"Services"},
    "Chipset": {"EnableHibernation"},
    "VirtualMachine_Memory": {"BackingPageSize", "FaultClusterSizeShift", "DirectMapFaultClusterSizeShift", "PinBackingPages",
                              "ForbidSmallBackingPages"},
    "VirtualMachine_Processor": {"MaximumFrequencyMHz", "ExposeVirtualizationExtensions", "EnablePerfmonPmu", "EnablePerfmonArchPmu",
                                 "EnablePerfmonPebs", "EnablePerfmonLbr", "EnablePerfmonIpt", "EnablePageShattering",
                                 "DisableSpeculationControls", "ProcessorFeatureSet"},
    "Devices": {"VirtioSerial"},
    "Scsi": {"DisableInterruptBatching"},
    "Attachment": {"SupportEncryptedFiles"},
}
NO_STRUCTS = {"Services", "Empty", "System_PropertyQuery", "SystemQuery", "Service_PropertyQuery", "ShutdownOptions"}
GO_NAMES = {"VirtualMachine_HvSocket": "HvSocket2"}
INTEGERS = {"int32", "uint32", "int64", "uint64"}


def is_of_type(ours, go):
    """ours: a type of facts.py. Objects are pointers there, words are strings, and keys of maps are always texts."""
    if ours == "Any":
        return True
    if ours == "Empty":
        return go.startswith("*")
    if match := re.fullmatch(r"Map<\w+,(\w+)>", ours):
        return go == f"map[string]{match[1]}"
    if ours in FACTS["WORDS"]:
        return go in ("string", "guestrequest.RequestType")
    if ours in FACTS["OBJECTS"]:
        return go == "*" + GO_NAMES.get(ours, ours.replace("_", ""))
    return go == ours or {go, ours} <= INTEGERS


def test_documents_of_hcs():
    """Each object and field that the stand-in accepts in a document is also hcsshim's, with the same type. So is each
    one that our machines use."""
    source = "\n".join(path.read_text() for path in sorted((published("hcsshim") / "source" / "schema2").glob("*.go")))
    structs = {}
    for name, body in re.findall(r"^type (\w+) struct \{(.*?)^\}", source, re.S | re.M):
        fields = re.findall(r'^\s+(\w+)\s+(\S+)\s+`json:"(\w*)[^"]*"`', body, re.M)
        structs[name] = {tag or field: kind for field, kind, tag in fields}
    objects = {name: fields for name, fields in FACTS["OBJECTS"].items() if name not in NO_STRUCTS}
    missing, wrong = {}, []
    for name, fields in objects.items():
        real = structs[GO_NAMES.get(name, name.replace("_", ""))]
        for field, kind in fields.items():
            if field not in real:
                missing.setdefault(name, set()).add(field)
            elif not is_of_type(kind.split()[1], real[field]):
                wrong.append((name, field, kind, real[field]))
    assert wrong == [] and missing == NOT_IN_HCSSHIM
    document = (ROOT / "ports/hyperv/machine/document.c").read_text()
    keys = set(re.findall(r'"([A-Z]\w+)"', document)) - {"VirtualDisk"}
    assert len(keys) > 20 and keys <= {field for fields in structs.values() for field in fields}
