/* poll.h - see posix.h */
