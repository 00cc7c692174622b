/* shrink.c - see os/shrink.h */
#include "os/shrink.h"

#include <link.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Segments that cannot be written have only bytes of their file: MADV_DONTNEED drops the pages of
 * this process, and the next access maps them from the page cache. Segments that can be written are
 * left alone, also the part that was made read-only after relocation. */
static int shrink_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
	uintptr_t page = *(const uintptr_t *)ctx;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t from, to;

		if (ph->p_type != PT_LOAD || (ph->p_flags & PF_W))
			continue;
		from = (info->dlpi_addr + ph->p_vaddr) & ~(page - 1);
		to = (info->dlpi_addr + ph->p_vaddr + ph->p_filesz) & ~(page - 1);
		if (to > from)
			madvise((void *)from, to - from, MADV_DONTNEED);
	}
	return 0;
}

void shrink_memory(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

#ifdef __GLIBC__ /* musl gives free memory back by itself */
	malloc_trim(0);
#endif
	dl_iterate_phdr(shrink_object, &page);
}
