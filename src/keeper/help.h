/* help.h - the text of `killick --help`; that of `killick run --help` is each system's. */
#pragma once

extern const char help_usage[];
