/* sockets.h - winsock, before its first function is called; for files of src/os/windows. */
#pragma once

/* Start winsock, once. Threads: any. */
void sockets_begin(void);
