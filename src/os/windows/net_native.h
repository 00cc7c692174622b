/* net_native.h - the headers of Windows for sockets; only files of src/os include it. */
#pragma once

#include <winsock2.h>
#include <ws2tcpip.h>
#include <mstcpip.h>
#include <windows.h>

#include <stdbool.h>

#ifndef TCP_MAXRT
#define TCP_MAXRT 5 /* Windows' own header has it; mingw-w64 10 does not */
#endif
#ifndef IF_NAMESIZE
#define IF_NAMESIZE 16
#endif

/* Windows writes interfaces as numbers. */
static inline bool net_interface(unsigned index, char out[IF_NAMESIZE])
{
	(void)index;
	(void)out;
	return false;
}
