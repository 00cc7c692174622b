/* seal.c - see seal.h */
#include "seal.h"

#include <stdbool.h>

/* What other processes of this user may do. PROCESS_QUERY_INFORMATION is asked for by node's
 * process.kill(pid), and gives away no more than names and times. */
#define SEAL_PROCESS (SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_QUERY_INFORMATION)
#define SEAL_THREAD  (SYNCHRONIZE | THREAD_QUERY_LIMITED_INFORMATION)

struct seal {
	union {
		TOKEN_USER user;
		char room[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
	} token;
	union {
		SID sid;
		char room[SECURITY_MAX_SID_SIZE];
	} system, owner;
	union {
		ACL acl;
		char room[sizeof(ACL) + 3 * (sizeof(ACCESS_ALLOWED_ACE) + SECURITY_MAX_SID_SIZE)];
	} list;
	SECURITY_DESCRIPTOR descriptor;
};

static bool seal_user(struct seal *s)
{
	HANDLE token;
	DWORD n;
	bool done;

	if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token))
		return false;
	done = GetTokenInformation(token, TokenUser, &s->token, sizeof(s->token), &n);
	CloseHandle(token);
	return done;
}

/* A well-known id with one number: S-1-AUTHORITY-NUMBER. */
static bool seal_sid(SID *sid, BYTE authority, DWORD number)
{
	SID_IDENTIFIER_AUTHORITY from = { { 0, 0, 0, 0, 0, authority } };

	if (!InitializeSid(sid, &from, 1))
		return false;
	*GetSidSubAuthority(sid, 0) = number;
	return true;
}

/* The entry for OWNER RIGHTS takes from the user, who owns the object, the right to change this
 * list again. */
static bool seal_make(struct seal *s, DWORD rights)
{
	return seal_user(s) && seal_sid(&s->system.sid, 5, SECURITY_LOCAL_SYSTEM_RID) &&
	       seal_sid(&s->owner.sid, 3, 4) &&
	       InitializeAcl(&s->list.acl, sizeof(s->list), ACL_REVISION) &&
	       AddAccessAllowedAce(&s->list.acl, ACL_REVISION, rights, s->token.user.User.Sid) &&
	       AddAccessAllowedAce(&s->list.acl, ACL_REVISION, GENERIC_ALL, &s->system.sid) &&
	       AddAccessAllowedAce(&s->list.acl, ACL_REVISION, READ_CONTROL, &s->owner.sid) &&
	       InitializeSecurityDescriptor(&s->descriptor, SECURITY_DESCRIPTOR_REVISION) &&
	       SetSecurityDescriptorDacl(&s->descriptor, TRUE, &s->list.acl, FALSE) &&
	       SetSecurityDescriptorControl(&s->descriptor, SE_DACL_PROTECTED, SE_DACL_PROTECTED);
}

static bool seal_object(HANDLE object, DWORD rights)
{
	static struct seal s;

	return seal_make(&s, rights) &&
	       SetKernelObjectSecurity(object, DACL_SECURITY_INFORMATION, &s.descriptor);
}

DWORD seal_self(void)
{
	if (!seal_object(GetCurrentThread(), SEAL_THREAD) ||
	    !seal_object(GetCurrentProcess(), SEAL_PROCESS | PROCESS_TERMINATE))
		return GetLastError();
	return 0;
}

struct seal_child seal_child(void)
{
	static struct seal process, thread;
	static SECURITY_ATTRIBUTES attributes[] = {
		{ sizeof(attributes[0]), &process.descriptor, FALSE },
		{ sizeof(attributes[0]), &thread.descriptor, FALSE },
	};

	if (!seal_make(&process, SEAL_PROCESS) || !seal_make(&thread, SEAL_THREAD))
		return (struct seal_child){ NULL, NULL };
	return (struct seal_child){ &attributes[0], &attributes[1] };
}
