/* sha1.h - for the one thing that still asks for it: the answer to a WebSocket key. */
#pragma once

#include <stddef.h>

#define SHA1_SIZE 20
void sha1(const void *bytes, size_t len, unsigned char out[SHA1_SIZE]);
