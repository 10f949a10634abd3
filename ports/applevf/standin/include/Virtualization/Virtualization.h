/* SPDX-License-Identifier: MIT */
#pragma once

#import <Virtualization/VZAudio.h>
#import <Virtualization/VZConsole.h>
#import <Virtualization/VZDirectorySharing.h>
#import <Virtualization/VZError.h>
#import <Virtualization/VZGraphics.h>
#import <Virtualization/VZMac.h>
#import <Virtualization/VZMemory.h>
#import <Virtualization/VZNetwork.h>
#import <Virtualization/VZPlatform.h>
#import <Virtualization/VZSerialPort.h>
#import <Virtualization/VZSocket.h>
#import <Virtualization/VZStorage.h>
#import <Virtualization/VZVirtualMachine.h>
#import <Virtualization/VZVirtualMachineConfiguration.h>
