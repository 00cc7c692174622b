/* no_leak_check.c - linked into programs in which AddressSanitizer must not look for leaks when
 * they exit.
 *
 * The look needs ptrace. A keeper has forbidden that to everybody (keeper_seal), so the look would
 * be a fatal error; a keeper allocates nothing after its start. The servers of the zoo end in every
 * odd way there is, and their exit status is part of the tests.
 */
int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void)
{
	return 1;
}
