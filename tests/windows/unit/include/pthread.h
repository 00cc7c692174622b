/* pthread.h - see posix.h */
