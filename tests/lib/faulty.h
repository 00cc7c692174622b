/* faulty.h - calls that fail when a test wants them to; see faulty.c. */
#pragma once

#include <stdbool.h>

enum faulty_kind {
	FAULTY_MEMORY,     /* malloc and its kin: NULL */
	FAULTY_DESCRIPTOR, /* whatever makes a descriptor, or changes one */
	FAULTY_PROCESS,    /* clone, pthread_create */
	FAULTY_WRITE,      /* write, send: an error */
	FAULTY_READ,       /* read, recv: an error */
	FAULTY_SHORT,      /* read and write: one byte */
	FAULTY_INTERRUPT,  /* read, write, epoll_wait: EINTR */
	FAULTY_KINDS,
};

/* Weak: NULL in a program that does not have faulty.c preloaded. */
#define FAULTY __attribute__((weak, visibility("default")))

/* From now on the at-th call of `kind` fails, or every one from there; at 0: only count. */
FAULTY void faulty_arm(enum faulty_kind kind, long at, bool for_ever);
/* Back to normal; how many calls there were. */
FAULTY long faulty_disarm(void);
