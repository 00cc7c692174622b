/* sha1.h - SHA-1, only for the answer to a WebSocket key. */
#pragma once

#include <stddef.h>

#define SHA1_SIZE 20
void sha1(const void *bytes, size_t len, unsigned char out[SHA1_SIZE]);
