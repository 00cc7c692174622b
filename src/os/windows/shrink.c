/* shrink.c - see os/shrink.h */
#include "os/shrink.h"

#include <windows.h>

void shrink_memory(void)
{
	SetProcessWorkingSetSize(GetCurrentProcess(), (SIZE_T)-1, (SIZE_T)-1);
}
