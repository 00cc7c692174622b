/* error.h - errors of Windows as -errno; for files of src/os/windows.
 *
 * Each function maps its error here, once. An error without a counterpart is -EIO. Threads: any.
 */
#pragma once

int error_of(unsigned long code); /* of GetLastError */
int error_of_socket(int code);    /* of WSAGetLastError */
int error_of_status(long status); /* an NTSTATUS */
