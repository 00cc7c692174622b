/* kernel.c - see kernel.h */
#include "os/kernel.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <errno.h>
#include <stdio.h>

/* RtlGetVersion, and not GetVersionEx, which lies to programs without a manifest. */
int kernel_look(struct kernel *out)
{
	LONG(WINAPI * version)(OSVERSIONINFOW *);
	OSVERSIONINFOW v = { .dwOSVersionInfoSize = sizeof(v) };
	FARPROC found = GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "RtlGetVersion");
	SYSTEM_INFO info;

	if (!found)
		return -ENOSYS;
	version = (LONG(WINAPI *)(OSVERSIONINFOW *))(void (*)(void))found;
	version(&v);
	GetNativeSystemInfo(&info);
	snprintf(out->name, sizeof(out->name), "Windows");
	snprintf(out->release, sizeof(out->release), "%lu.%lu.%lu", v.dwMajorVersion,
		 v.dwMinorVersion, v.dwBuildNumber);
	snprintf(out->machine, sizeof(out->machine), "%s",
		 info.wProcessorArchitecture == PROCESSOR_ARCHITECTURE_ARM64   ? "aarch64"
		 : info.wProcessorArchitecture == PROCESSOR_ARCHITECTURE_AMD64 ? "x86_64"
									       : "other");
	return 0;
}

bool kernel_libc(char *out, size_t size)
{
	(void)out;
	(void)size;
	return false;
}
