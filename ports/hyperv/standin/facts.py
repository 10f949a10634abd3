# SPDX-License-Identifier: MIT
"""The inputs and answers of the Host Compute Service, as Microsoft publishes them. Citations: [ref] is the page of that
name below learn.microsoft.com/virtualization/api/hcs (its source:
github.com/MicrosoftDocs/Virtualization-Documentation, virtualization/api/hcs), [schema] its SchemaReference,
[hcsshim] github.com/microsoft/hcsshim, [wsl] github.com/microsoft/WSL, [vhd] "Virtual Hard Disk Image Format
Specification" 1.0. README.md says what is only an assumption."""

# [ref] HCSHResult
HCS_E_TERMINATED_DURING_START = 0x80370100
HCS_E_INVALID_STATE = 0x80370105
HCS_E_UNEXPECTED_EXIT = 0x80370106
HCS_E_INVALID_JSON = 0x8037010D
HCS_E_SYSTEM_NOT_FOUND = 0x8037010E
HCS_E_SYSTEM_ALREADY_EXISTS = 0x8037010F
HCS_E_SYSTEM_ALREADY_STOPPED = 0x80370110
# HRESULTs of Win32 errors (learn.microsoft.com, "System Error Codes"; 0x8007 and the number)
E_FILE_NOT_FOUND = 0x80070002
E_PATH_NOT_FOUND = 0x80070003
E_ACCESS_DENIED = 0x80070005  # [wsl] HcsVirtualMachine.cpp: a disk without HcsGrantVmAccess is refused so
E_INVALID_DATA = 0x8007000D  # [hcsshim] internal/hcs/errors.go: what is sent is invalid or unsupported
E_SHARING_VIOLATION = 0x80070020
E_NOT_SUPPORTED = 0x80070032
E_UNEXPECTED = 0x8000FFFF
# [MS-ERREF] 2.1.1, HRESULT values of the facility for virtual disks
VHD_DRIVE_FOOTER_MISSING = 0xC03A0001
VHD_DRIVE_FOOTER_CHECKSUM_MISMATCH = 0xC03A0002
VHD_DRIVE_FOOTER_CORRUPT = 0xC03A0003
VHD_FORMAT_UNKNOWN = 0xC03A0004
VHD_FORMAT_UNSUPPORTED_VERSION = 0xC03A0005
VHD_INVALID_SIZE = 0xC03A0012
VHD_INVALID_FILE_SIZE = 0xC03A0013
VHD_INVALID_TYPE = 0xC03A001B

# [ref] HCS_EVENT_TYPE
EVENT_SYSTEM_EXITED = 1

# Winsock's errors of AF_HYPERV. WSAEACCES: github.com/nbdd0121/wsld issue 5; the others are those that callers try again
# after (github.com/microsoft/go-winio, hvsock.go, canRedial).
WSAEACCES, WSAEADDRINUSE, WSAEADDRNOTAVAIL, WSAENETUNREACH, WSAECONNREFUSED = 10013, 10048, 10049, 10051, 10061

# "Make your own integration services" and hvsocket.h: the services that a Linux guest has as vsock ports.
VSOCK_TEMPLATE = "-facb-11e6-bd58-64006a7986d3"
WILDCARD = "00000000-0000-0000-0000-000000000000"
BROADCAST = "ffffffff-ffff-ffff-ffff-ffffffffffff"
CHILDREN = "90db8b89-0d35-4f79-8ce9-49ea0ac8b7cd"
LOOPBACK = "e0e16197-dd56-4a10-9195-5ee7a155a838"
PARENT = "a42e7cda-d03f-480c-9cc2-a4de20abb878"

SCHEMA = (2, 7)  # what [wsl] asks of Windows 11; [schema], Schema-Version-Map, goes to 2.6
SCSI_CONTROLLERS, SCSI_LUNS = 4, 64  # "Plan for Hyper-V scalability": virtual SCSI controllers, disks each
COM_PORTS = 2  # [ref] HcsModifyComputeSystem: the serial ID is not larger than 1
MEMORY_STEP_MB = 2  # [wsl] HcsVirtualMachine.cpp: the granularity that HCS enforces

# [schema]: an object's fields, each with the version that brought it and its type. Objects without fields are {}.
OBJECTS = {
    "ComputeSystem": {
        "Owner": "2.0 string", "SchemaVersion": "2.0 Version", "HostingSystemId": "2.0 string", "HostedSystem": "2.0 Any",
        "Container": "2.0 Any", "VirtualMachine": "2.0 VirtualMachine", "ShouldTerminateOnLastHandleClosed": "2.0 bool"},
    "Version": {"Major": "2.0 uint32", "Minor": "2.0 uint32"},
    "VirtualMachine": {
        "Version": "2.5 Version", "StopOnReset": "2.0 bool", "Chipset": "2.0 Chipset", "ComputeTopology": "2.0 Topology",
        "Devices": "2.0 Devices", "Services": "2.5 Services", "GuestState": "2.1 Any", "RestoreState": "2.0 Any",
        "RegistryChanges": "2.0 Any", "StorageQoS": "2.1 StorageQoS", "GuestConnection": "2.1 Any"},
    "Chipset": {
        "Uefi": "2.0 Any", "IsNumLockDisabled": "2.0 bool", "BaseBoardSerialNumber": "2.0 string", "ChassisSerialNumber": "2.0 string",
        "ChassisAssetTag": "2.0 string", "EnableHibernation": "2.5 bool", "UseUtc": "2.1 bool", "LinuxKernelDirect": "2.2 LinuxKernelDirect"},
    "LinuxKernelDirect": {"KernelFilePath": "2.2 string", "InitRdPath": "2.2 string", "KernelCmdLine": "2.2 string"},
    "Topology": {"Memory": "2.0 VirtualMachine_Memory", "Processor": "2.0 VirtualMachine_Processor"},
    "VirtualMachine_Memory": {
        "SizeInMB": "2.1 uint64", "AllowOvercommit": "2.1 bool", "BackingPageSize": "2.2 MemoryBackingPageSize",
        "FaultClusterSizeShift": "2.4 uint32", "DirectMapFaultClusterSizeShift": "2.4 uint32", "PinBackingPages": "2.2 bool",
        "ForbidSmallBackingPages": "2.2 bool", "EnableHotHint": "2.0 bool", "EnableColdHint": "2.0 bool",
        "EnableColdDiscardHint": "2.2 bool", "EnableDeferredCommit": "2.1 bool", "LowMmioGapInMB": "2.3 uint64",
        "HighMmioBaseInMB": "2.3 uint64", "HighMmioGapInMB": "2.3 uint64"},
    "VirtualMachine_Processor": {
        "Count": "2.0 uint32", "Limit": "2.1 uint64", "Weight": "2.1 uint64", "Reservation": "2.4 uint64",
        "MaximumFrequencyMHz": "2.4 uint32", "ExposeVirtualizationExtensions": "2.0 bool", "EnablePerfmonPmu": "2.2 bool",
        "EnablePerfmonArchPmu": "2.5 bool", "EnablePerfmonPebs": "2.2 bool", "EnablePerfmonLbr": "2.2 bool",
        "EnablePerfmonIpt": "2.2 bool", "EnablePageShattering": "2.5 bool", "DisableSpeculationControls": "2.5 bool",
        "ProcessorFeatureSet": "2.5 Any", "CpuGroup": "2.5 Any"},
    "Devices": {
        "ComPorts": "2.1 Map<uint32,ComPort>", "VirtioSerial": "2.2 Any", "Scsi": "2.0 Map<string,Scsi>", "VirtualPMem": "2.0 Any",
        "NetworkAdapters": "2.0 Any", "VideoMonitor": "2.0 Any", "Keyboard": "2.0 Empty", "Mouse": "2.0 Empty",
        "HvSocket": "2.1 VirtualMachine_HvSocket", "EnhancedModeVideo": "2.1 Any", "GuestCrashReporting": "2.0 Any",
        "VirtualSmb": "2.0 Any", "Plan9": "2.0 Any", "Battery": "2.0 Empty", "FlexibleIov": "2.1 Any", "SharedMemory": "2.1 Any",
        "VirtualPci": "2.3 Any"},
    "ComPort": {"NamedPipe": "2.1 string", "OptimizeForDebugger": "2.1 bool"},
    "Scsi": {"Attachments": "2.0 Map<uint32,Attachment>", "DisableInterruptBatching": "2.4 bool"},
    "Attachment": {
        "Type": "2.0 AttachmentType", "Path": "2.0 string", "CachingMode": "2.1 CachingMode", "ReadOnly": "2.0 bool",
        "SupportCompressedVolumes": "2.3 bool", "AlwaysAllowSparseFiles": "2.6 bool", "SupportEncryptedFiles": "2.6 bool"},
    "VirtualMachine_HvSocket": {"HvSocketConfig": "2.1 HvSocketSystemConfig"},
    "HvSocketSystemConfig": {
        "DefaultBindSecurityDescriptor": "2.0 string", "DefaultConnectSecurityDescriptor": "2.0 string",
        "ServiceTable": "2.0 Map<Guid,HvSocketServiceConfig>"},
    "HvSocketServiceConfig": {
        "BindSecurityDescriptor": "2.0 string", "ConnectSecurityDescriptor": "2.0 string", "AllowWildcardBinds": "2.0 bool"},
    "StorageQoS": {"IopsMaximum": "2.0 uint64", "BandwidthMaximum": "2.0 uint64"},
    "Services": {"Heartbeat": "2.5 Empty", "Shutdown": "2.5 Empty", "Timesync": "2.5 Empty", "KvpExchange": "2.5 Any"},
    "Empty": {},
    "System_PropertyQuery": {"PropertyTypes": "2.1 Array<System_PropertyType>", "Queries": "2.5 Any"},
    "SystemQuery": {"Ids": "2.1 Array<string>", "Names": "2.1 Array<string>", "Types": "2.1 Array<SystemType>", "Owners": "2.1 Array<string>"},
    "Service_PropertyQuery": {"PropertyTypes": "2.1 Array<GetPropertyType>", "PropertyQueries": "2.5 Any"},
    "PauseOptions": {"SuspensionLevel": "2.0 PauseSuspensionLevel", "HostedNotification": "2.1 PauseNotification"},
    "PauseNotification": {"Reason": "2.1 PauseReason"},
    "ShutdownOptions": {"Mechanism": "2.5 ShutdownMechanism", "Type": "2.5 ShutdownType", "Force": "2.5 bool", "Reason": "2.5 string"},
    "ModifySettingRequest": {
        "ResourcePath": "2.1 string", "RequestType": "2.0 ModifyRequestType", "Settings": "2.0 Any", "GuestRequest": "2.1 Any"},
}

WORDS = {  # [schema]: the values of an enumeration
    "MemoryBackingPageSize": ("Small", "Large"),
    "AttachmentType": ("VirtualDisk", "Iso", "PassThru"),
    "CachingMode": ("Uncached", "Cached", "ReadOnlyCached"),
    "System_PropertyType": ("Memory", "Statistics", "ProcessList", "TerminateOnLastHandleClosed", "SharedMemoryRegion", "GuestConnection"),
    "SystemType": ("Container", "VirtualMachine"),
    "GetPropertyType": ("Basic", "CpuGroup", "ProcessorTopology", "ContainerCredentialGuard", "QoSCapabilities"),
    "PauseSuspensionLevel": ("Suspend", "MemoryLow", "MemoryMedium", "MemoryHigh"),
    "PauseReason": ("None", "Save", "Template"),
    "ShutdownMechanism": ("GuestConnection", "IntegrationService"),
    "ShutdownType": ("Shutdown", "Hibernate", "Reboot"),
    "ModifyRequestType": ("Add", "Remove", "Update"),
}

# Real values that no machine of the stand-in has. It refuses them, and its words say so.
NOT_MODELLED = {
    "ComputeSystem": ("HostingSystemId", "HostedSystem", "Container"),
    "VirtualMachine": ("Version", "GuestState", "RestoreState", "RegistryChanges", "StorageQoS", "GuestConnection"),
    "Chipset": ("Uefi",),
    "VirtualMachine_Processor": ("ProcessorFeatureSet", "CpuGroup"),
    "Devices": ("VirtioSerial", "VirtualPMem", "NetworkAdapters", "VideoMonitor", "EnhancedModeVideo", "GuestCrashReporting",
                "VirtualSmb", "Plan9", "FlexibleIov", "SharedMemory", "VirtualPci"),
    "Services": ("KvpExchange",),
}
