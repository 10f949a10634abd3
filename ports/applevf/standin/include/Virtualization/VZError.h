/* SPDX-License-Identifier: MIT */
#pragma once

#import <Virtualization/VZDefines.h>

extern NSString *const _Nonnull VZErrorDomain;

typedef NS_ENUM(NSInteger, VZErrorCode) {
	VZErrorInternal = 1,
	VZErrorInvalidVirtualMachineConfiguration = 2,
	VZErrorInvalidVirtualMachineState = 3,
	VZErrorInvalidVirtualMachineStateTransition = 4,
	VZErrorInvalidDiskImage = 5,
	VZErrorVirtualMachineLimitExceeded VZ_SINCE(12.0) = 6,
	VZErrorNetworkError VZ_SINCE(13.0) = 7,
	VZErrorOutOfDiskSpace VZ_SINCE(13.0) = 8,
	VZErrorOperationCancelled VZ_SINCE(13.0) = 9,
	VZErrorNotSupported VZ_SINCE(13.0) = 10,
	VZErrorSave VZ_SINCE(14.0) = 11,
	VZErrorRestore VZ_SINCE(14.0) = 12,
	VZErrorRestoreImageCatalogLoadFailed VZ_SINCE(13.0) = 10001,
	VZErrorInvalidRestoreImageCatalog VZ_SINCE(13.0) = 10002,
	VZErrorNoSupportedRestoreImagesInCatalog VZ_SINCE(13.0) = 10003,
	VZErrorRestoreImageLoadFailed VZ_SINCE(13.0) = 10004,
	VZErrorInvalidRestoreImage VZ_SINCE(13.0) = 10005,
	VZErrorInstallationRequiresUpdate VZ_SINCE(13.0) = 10006,
	VZErrorInstallationFailed VZ_SINCE(13.0) = 10007,
	VZErrorNetworkBlockDeviceNegotiationFailed VZ_SINCE(14.0) = 20001,
	VZErrorNetworkBlockDeviceDisconnected VZ_SINCE(14.0) = 20002,
};
