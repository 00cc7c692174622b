/* executor.c - the executor's side of the protocol: every method, every error, every state. */
#include <sys/resource.h>

#include "executor/orders.h"
#include "executor/spec.h"
#include "unit/executor_talk.h"
#include "wire/wire.h"

TEST(the_handshake)
{
	struct channel *c;

	far_open(NULL);
	c = far_connect("1.2.3.4:5", false);
	ask(c, "{\"id\":1,\"method\":\"environment/info\"}",
	    "{\"error\":{\"code\":-32600,\"message\":\"client must call initialize before using "
	    "environment info methods\"},\"id\":1}");
	ask(c, "{\"id\":\"x\",\"method\":\"process/read\",\"params\":{}}",
	    "{\"error\":{\"code\":-32600,\"message\":\"client must call initialize before using "
	    "exec methods\"},\"id\":\"x\"}");
	ask(c, "{\"id\":1,\"method\":\"initialize\",\"params\":{}}",
	    "{\"error\":{\"code\":-32602,\"message\":\"missing field `clientName`\"},\"id\":1}");
	ask(c, "{\"id\":1,\"method\":\"initialize\",\"params\":{\"clientName\":1}}",
	    "{\"error\":{\"code\":-32602,\"message\":\"invalid type: number, expected a "
	    "string\"},\"id\":1}");
	ask(c,
	    "{\"id\":1,\"method\":\"initialize\",\"params\":{\"clientName\":\"x\","
	    "\"resumeSessionId\":\"zz\"}}",
	    "{\"error\":{\"code\":-32600,\"message\":\"unknown session id zz\"},\"id\":1}");
	far_say(c, "{\"id\":2,\"method\":\"initialize\",\"params\":{\"clientName\":\"x\","
		   "\"resumeSessionId\":null}}");
	OK(strstr(far_heard(c), "\"environmentInfo\":{\"shell\":{\"name\":\"sh\",\"path\":\"/bin/"
				"sh\"}"));
	OK(strstr(c->line, "\"killick\":{\"version\":"));
	OK(strstr(c->line, "\"leaseMs\":30000"));
	ask(c, "{\"id\":3,\"method\":\"environment/status\"}",
	    "{\"error\":{\"code\":-32600,\"message\":\"client must send initialized before using "
	    "environment status methods\"},\"id\":3}");
	ask(c, "{\"id\":4,\"method\":\"initialize\",\"params\":{\"clientName\":\"x\"}}",
	    "{\"error\":{\"code\":-32600,\"message\":\"initialize may only be sent once per "
	    "connection\"},\"id\":4}");
	far_say(c, "{\"method\":\"initialized\"}");
	ask(c, "{\"id\":5,\"method\":\"environment/status\",\"params\":null}",
	    "{\"id\":5,\"result\":{\"status\":\"ready\"}}");
	ask(c, "{\"id\":6,\"method\":\"environment/status\",\"params\":{\"a\":1}}",
	    "{\"error\":{\"code\":-32602,\"message\":\"invalid type: map, expected "
	    "unit\"},\"id\":6}");
	far_say(c, "{\"id\":7,\"method\":\"environment/info\",\"params\":{}}");
	OK(strstr(far_heard(c), "{\"id\":7,\"result\":{\"shell\""));
	ask(c, "{\"id\":8,\"method\":\"process/resize\"}",
	    "{\"error\":{\"code\":-32601,\"message\":\"exec-server stub does not implement "
	    "`process/resize` yet\"},\"id\":8}");
	ask(c, "{bad",
	    "{\"error\":{\"code\":-32600,\"message\":\"failed to parse JSON-RPC message from "
	    "exec-server client: a key in quotes is expected\"},\"id\":-1}");
	OK(!c->closing);
	far_close();
}

TEST(protocol_errors_end_the_connection)
{
	static const char *const bad[] = { "{\"method\":\"initialized\"}",
					   "{\"method\":\"other\",\"params\":{}}",
					   "{\"id\":1,\"result\":{}}",
					   "{\"id\":1,\"error\":{\"code\":1}}" };
	struct channel *good;

	far_open(NULL);
	good = far_client("1.2.3.4:5", NULL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct channel *c = far_connect("1.2.3.4:6", false);

		far_say(c, "%s", bad[i]);
		STREQ(far_heard(c), "");
		OK(c->closing && c->closing_now);
		far_say(c, "%s", bad[i]); /* what comes meanwhile is not heard */
		far_hang_up(c, 0);
	}
	EQ(far.gone, 4);
	OK(!good->closing);
	far_say(good, "{\"method\":\"initialized\"}"); /* once more is no harm */
	OK(!good->closing);
	far_close();
}

TEST(a_process_from_start_to_end)
{
	struct channel *c;
	struct fake_link *f;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	far_say(c, START("p", PIPED));
	STREQ(far_heard(c), ""); /* not before it runs */
	f = far_link();
	STREQ(f->argv, "/bin/x|a|");
	STREQ(f->cwd, "/tmp");
	STREQ(f->envp, "");
	STREQ(f->name, "x");
	EQ(f->stdio, STDIO_PIPES);
	EQ(f->linger_ms, 0);
	far_run(f);
	STREQ(far_heard(c), "{\"id\":7,\"result\":{\"processId\":\"p\",\"sandboxType\":\"none\","
			    "\"pid\":100,\"level\":\"keeper\"}}");
	far_print(f, "hello\n");
	STREQ(far_heard(c),
	      "{\"method\":\"process/output\",\"params\":{\"processId\":\"p\",\"seq\":1,"
	      "\"stream\":\"stdout\",\"chunk\":\"aGVsbG8K\"}}");
	far_print_err(f, "x");
	STREQ(far_heard(c),
	      "{\"method\":\"process/output\",\"params\":{\"processId\":\"p\",\"seq\":2,"
	      "\"stream\":\"stderr\",\"chunk\":\"eA==\"}}");
	ask(c,
	    "{\"id\":8,\"method\":\"process/write\",\"params\":{\"processId\":\"p\",\"chunk\":"
	    "\"aGVsbG8K\",\"writeId\":\"1\"}}",
	    "{\"id\":8,\"result\":{\"status\":\"accepted\"}}");
	STREQ(f->in.data, "hello\n");
	ask(c, START("p", ""),
	    "{\"error\":{\"code\":-32600,\"message\":\"process p already exists\"},\"id\":7}");
	far_end(f, 3, 0);
	STREQ(far_heard(c), "{\"method\":\"process/exited\",\"params\":{\"processId\":\"p\","
			    "\"seq\":3,\"exitCode\":3,\"sandboxDenied\":false}}");
	STREQ(far_heard(c), "{\"method\":\"process/closed\",\"params\":{\"processId\":\"p\","
			    "\"seq\":4,\"report\":{\"killick\":\"x\"}}}");
	ask(c, "{\"id\":9,\"method\":\"process/read\",\"params\":{\"processId\":\"p\"}}",
	    "{\"id\":9,\"result\":{\"chunks\":[{\"seq\":1,\"stream\":\"stdout\",\"chunk\":"
	    "\"aGVsbG8K\"},{\"seq\":2,\"stream\":\"stderr\",\"chunk\":\"eA==\"}],\"nextSeq\":5,"
	    "\"exited\":true,\"exitCode\":3,\"closed\":true,\"failure\":null,\"sandboxDenied\":"
	    "false,\"report\":{\"killick\":\"x\"}}}");
	ask(c, START("p", ""),
	    "{\"error\":{\"code\":-32600,\"message\":\"process p already exists\"},\"id\":7}");
	ask(c,
	    "{\"id\":8,\"method\":\"process/write\",\"params\":{\"processId\":\"p\",\"chunk\":"
	    "\"aGVsbG8K\",\"writeId\":\"2\"}}",
	    "{\"error\":{\"code\":-32603,\"message\":\"failed to write to process "
	    "stdin\"},\"id\":8}");
	ask(c, "{\"id\":8,\"method\":\"process/terminate\",\"params\":{\"processId\":\"p\"}}",
	    "{\"id\":8,\"result\":{\"running\":false}}");
	ask(c,
	    "{\"id\":8,\"method\":\"process/signal\",\"params\":{\"processId\":\"p\",\"signal\":"
	    "\"interrupt\"}}",
	    "{\"id\":8,\"result\":{}}");
	fake_pass(29999);
	OK(!c->closing);
	far_say(c, "{\"id\":9,\"method\":\"process/read\",\"params\":{\"processId\":\"p\"}}");
	OK(strstr(far_heard(c), "\"closed\":true"));
	fake_pass(1);
	ask(c, "{\"id\":9,\"method\":\"process/read\",\"params\":{\"processId\":\"p\"}}",
	    "{\"error\":{\"code\":-32600,\"message\":\"unknown process id p\"},\"id\":9}");
	start(c, START("p", ""));
	OK(strstr(far.log.data, "event=start process=\"p\" pid=100 level=keeper client=\"test\" "
				"argv=\"[\\\"/bin/x\\\",\\\"a\\\"]\"\n"));
	OK(strstr(far.log.data, "event=end process=\"p\" pid=100 client=\"test\" exit=3 why=exit "
				"step=none proof=waitid survivors=0 ms="));
	far_close();
}

TEST(invalid_starts_are_refused)
{
	static const struct {
		const char *params, *answer;
	} bad[] = {
		{ "{}", "-32602,\"message\":\"missing field `processId`\"" },
		{ "[]", "-32602,\"message\":\"invalid type: sequence, expected a map\"" },
		{ "{\"processId\":\"a\"}", "-32602,\"message\":\"missing field `argv`\"" },
		{ "{\"processId\":\"a\",\"argv\":[]}",
		  "-32602,\"message\":\"argv must not be empty\"" },
		{ "{\"processId\":\"a\",\"argv\":[1]}",
		  "-32602,\"message\":\"invalid type: number, expected a string\"" },
		{ "{\"processId\":\"a\",\"argv\":[\"a\\u0000b\"]}",
		  "-32602,\"message\":\"argv has a NUL in it\"" },
		{ "{\"processId\":\"a\",\"argv\":[\"x\"]}",
		  "-32602,\"message\":\"missing field `cwd`\"" },
		{ "{\"processId\":\"a\",\"argv\":[\"x\"],\"cwd\":\"/tmp\"}",
		  "-32602,\"message\":\"cwd: not a file: URI of an absolute path\"" },
		{ "{\"processId\":\"a\",\"argv\":[\"x\"],\"cwd\":\"file:///\"}",
		  "-32602,\"message\":\"missing field `env`\"" },
		{ "{\"processId\":\"a\",\"argv\":[\"x\"],\"cwd\":\"file:///\",\"env\":{\"A\":1}}",
		  "-32602,\"message\":\"env: A must be a string, without NUL\"" },
		{ "{\"processId\":\"a\",\"argv\":[\"x\"],\"cwd\":\"file:///\",\"env\":{\"A=\":"
		  "\"\"}}",
		  "-32602,\"message\":\"env: 'A=' is not a valid name of a variable\"" },
		{ "{\"processId\":\"a\",\"argv\":[\"x\"],\"cwd\":\"file:///\",\"env\":{}}",
		  "-32602,\"message\":\"missing field `tty`\"" },
		{ "{\"processId\":\"a\",\"argv\":[\"x\"],\"cwd\":\"file:///\",\"env\":{},\"tty\":"
		  "false,\"contain\":\"bag\"}",
		  "-32602,\"message\":\"contain must be" },
		{ "{\"processId\":\"a\",\"argv\":[\"x\"],\"cwd\":\"file:///\",\"env\":{},\"tty\":"
		  "false,\"memory\":\"1X\"}",
		  "-32602,\"message\":\"memory '1X' is not a size" },
		{ "{\"processId\":\"a\",\"argv\":[\"x\"],\"cwd\":\"file:///\",\"env\":{},\"tty\":"
		  "false,\"sandbox\":{}}",
		  "-32600,\"message\":\"this executor has no sandbox: nothing was started; start the "
		  "executor with --sandbox bwrap\"" },
		{ "{\"processId\":\"a\",\"argv\":[\"x\"],\"cwd\":\"file:///\",\"env\":{},\"tty\":"
		  "false,\"enforceManagedNetwork\":true}",
		  "-32600,\"message\":\"this executor has no managed network" },
		{ "{\"processId\":\"a\",\"argv\":[\"x\"],\"cwd\":\"file:///\",\"env\":{},\"tty\":"
		  "false,\"envPolicy\":{\"inherit\":\"some\",\"ignoreDefaultExcludes\":true,"
		  "\"exclude\":[],\"set\":{},\"includeOnly\":[]}}",
		  "-32602,\"message\":\"envPolicy.inherit: expected" },
		{ "{\"processId\":\"a\",\"argv\":[\"x\"],\"cwd\":\"file:///\",\"env\":{},\"tty\":"
		  "false,\"envPolicy\":{\"inherit\":\"all\"}}",
		  "-32602,\"message\":\"missing field `ignoreDefaultExcludes`\"" },
	};
	struct channel *c;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		far_say(c, "{\"id\":1,\"method\":\"process/start\",\"params\":%s}", bad[i].params);
		if (!strstr(far_heard(c), bad[i].answer))
			FAIL("%s: %s", bad[i].params, c->line);
	}
	EQ(far.link_count, 0);
	far.open_error = -ENOENT;
	ask(c, START("p", ""),
	    "{\"error\":{\"code\":-32603,\"message\":\"no such directory\"},\"id\":7}");
	far.open_error = 0;
	far_say(c, START("p", "")); /* the id is free */
	far_refuse(far_link(), "cannot run '/bin/x': No such file or directory");
	STREQ(far_heard(c), "{\"error\":{\"code\":-32603,\"message\":\"cannot run '/bin/x': No "
			    "such file or directory\"},\"id\":7}");
	STREQ(far_heard(c), "");
	start(c, START("p", ""));
	far_close();
}

TEST(the_environment_of_a_process)
{
	static const struct {
		const char *policy, *env, *result;
	} cases[] = {
		{ "null", "{\"A\":\"1\",\"B\":\"\"}", "A=1|B=|" },
		{ "null",
		  "{\"KILLICK_TREE\":\"1\",\"killick_runtime_dir\":\"\",\"KILLICK_X\":\"1\","
		  "\"node_repl_auth_token\":\"t\"}",
		  "KILLICK_X=1|" },
		{ "{\"inherit\":\"none\",\"ignoreDefaultExcludes\":false,\"exclude\":[],\"set\":{"
		  "\"S\":\"1\"},\"includeOnly\":[]}",
		  "{}", "S=1|" },
		{ "{\"inherit\":\"core\",\"ignoreDefaultExcludes\":false,\"exclude\":[],\"set\":{},"
		  "\"includeOnly\":[]}",
		  "{\"PATH\":\"/x\"}", "PATH=/x|HOME=/root|SHELL=/bin/sh|LANG=C|" },
		{ "{\"inherit\":\"all\",\"ignoreDefaultExcludes\":false,\"exclude\":[],\"set\":{},"
		  "\"includeOnly\":[]}",
		  "{}", "PATH=/bin|HOME=/root|SHELL=/bin/sh|LANG=C|OTHER=x|" },
		{ "{\"inherit\":\"all\",\"ignoreDefaultExcludes\":true,\"exclude\":[\"s*l\","
		  "\"la?g\"],"
		  "\"set\":{\"MY_KEY\":\"1\"},\"includeOnly\":[\"*key*\",\"*path\",\"OTHER\"]}",
		  "{\"Z\":\"z\"}", "PATH=/bin|API_KEY=k|OTHER=x|MY_KEY=1|Z=z|" },
	};
	struct channel *c;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		far_say(c,
			"{\"id\":1,\"method\":\"process/start\",\"params\":{\"processId\":\"%zu\","
			"\"argv\":[\"x\"],\"cwd\":\"file:///\",\"tty\":false,\"env\":%s,"
			"\"envPolicy\":%s}}",
			i, cases[i].env, cases[i].policy);
		EQ(far.link_count, i + 1);
		STREQ(far_link()->envp, cases[i].result);
	}
	far_close();
}

TEST(a_policy_that_is_too_much_work)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE);
	struct channel *c;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	buf_adds(&b, "{\"id\":1,\"method\":\"process/start\",\"params\":{\"processId\":\"p\","
		     "\"argv\":[\"x\"],\"cwd\":\"file:///"
		     "\",\"tty\":false,\"env\":{},\"envPolicy\":{\"inherit\":\"all\","
		     "\"ignoreDefaultExcludes\":true,\"exclude\":[],\"set\":{\"");
	for (int i = 0; i < 10000; i++)
		buf_adds(&b, "a");
	buf_adds(&b, "\":\"\"},\"includeOnly\":[");
	for (int i = 0; i < 4000; i++)
		buf_addf(&b, "%s\"*a*a*a*a*a*a*b\"", i ? "," : "");
	buf_adds(&b, "]}}}");
	far_say_bytes(c, b.data, b.len);
	STREQ(far_heard(c), "{\"error\":{\"code\":-32602,\"message\":\"the environment is too "
			    "large\"},\"id\":1}");
	buf_done(&b);
	far_close();
}

TEST(optional_params_of_start_are_used)
{
	struct channel *c;
	struct fake_link *f;

	far_open(&(struct executor_options){ .contain = LEVEL_KEEPER });
	c = far_client("1.2.3.4:5", NULL);
	f = start(c, START("", ",\"arg0\":\"-sh\",\"name\":\"n\\u0007me\",\"session\":\"s\","
			       "\"contain\":\"cgroup\",\"maxProcs\":12,\"memory\":\"512M\","
			       "\"metadata\":{\"threadId\":\"x\"},\"unknown\":[1]"));
	STREQ(f->arg0, "-sh");
	STREQ(f->name, "n_me");
	STREQ(f->contain, "cgroup");
	EQ(f->max_procs, 12);
	EQ(f->memory, 512ll << 20);
	EQ(f->stdio, STDIO_NULL);
	EQ(f->linger_ms, 30000);
	f = start(c,
		  "{\"id\":7,\"method\":\"process/"
		  "start\",\"params\":{\"processId\":\"\\u00e4\\\"\",\"argv\":[\"/bin/x\"],"
		  "\"cwd\":\"file://localhost/a%20b\",\"env\":{},\"tty\":true,\"memory\":4096}}");
	STREQ(f->cwd, "/a b");
	STREQ(f->contain, "keeper"); /* as the executor has it */
	EQ(f->memory, 4096);
	EQ(f->stdio, STDIO_TERMINAL);
	far_print(f, "t");
	STREQ(far_heard(c),
	      "{\"method\":\"process/output\",\"params\":{\"processId\":\"\xc3\xa4\\\"\","
	      "\"seq\":1,\"stream\":\"pty\",\"chunk\":\"dA==\"}}");
	f = start(c, START("auto", ",\"contain\":\"auto\""));
	STREQ(f->contain, "auto"); /* it says so, whatever the executor has */
	far_close();
}

TEST(writes_that_are_refused)
{
	struct channel *c;
	struct fake_link *f;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
#define WRITE(id, chunk, write)                                                                    \
	"{\"id\":1,\"method\":\"process/write\",\"params\":{\"processId\":\"" id "\",\"chunk\":"   \
	"\"" chunk "\",\"writeId\":\"" write "\"}}"
#define ACCEPTED "{\"id\":1,\"result\":{\"status\":\"accepted\"}}"
	ask(c, WRITE("q", "QQ==", "1"), "{\"id\":1,\"result\":{\"status\":\"unknownProcess\"}}");
	ask(c, WRITE("q", "Q", "1"),
	    "{\"error\":{\"code\":-32602,\"message\":\"chunk is not base64\"},\"id\":1}");
	ask(c, WRITE("q", "QQ==", ""),
	    "{\"error\":{\"code\":-32602,\"message\":\"writeId must not be empty\"},\"id\":1}");
	ask(c,
	    "{\"id\":1,\"method\":\"process/"
	    "write\",\"params\":{\"processId\":\"\",\"chunk\":\"\"}}",
	    "{\"error\":{\"code\":-32602,\"message\":\"missing field `writeId`\"},\"id\":1}");
	f = start(c, START("q", ""));
	ask(c, WRITE("q", "QQ==", "1"), "{\"id\":1,\"result\":{\"status\":\"stdinClosed\"}}");
	f = start(c, START("p", PIPED));
	ask(c, WRITE("p", "QQ==", "1"), ACCEPTED);
	ask(c, WRITE("p", "Q\\u0051==", "2"), ACCEPTED);
	ask(c, WRITE("p", "", "3"), ACCEPTED);
	STREQ(f->in.data, "AA");
	f->no_stdin = true;
	ask(c, WRITE("p", "QQ==", "4"),
	    "{\"error\":{\"code\":-32603,\"message\":\"failed to write to process "
	    "stdin\"},\"id\":1}");
	f->no_stdin = false; /* once is for ever */
	ask(c, WRITE("p", "QQ==", "5"),
	    "{\"error\":{\"code\":-32603,\"message\":\"failed to write to process "
	    "stdin\"},\"id\":1}");
	far_close();
}

TEST(a_write_is_done_once)
{
	struct channel *c;
	struct fake_link *f;

	far_open(NULL);
	c = far_client("1.2.3.4:5", NULL);
	f = start(c, START("p", PIPED));
	ask(c, WRITE("p", "MQ==", "1"), ACCEPTED);
	ask(c, WRITE("p", "MQ==", "1"), ACCEPTED);
	ask(c, WRITE("p", "Mg==", "3"), ACCEPTED);
	ask(c, WRITE("p", "Mw==", "2"), ACCEPTED); /* below the highest, and new */
	ask(c, WRITE("p", "Mw==", "2"), ACCEPTED);
	ask(c, WRITE("p", "NA==", "x"), ACCEPTED);
	ask(c, WRITE("p", "NA==", "x"), ACCEPTED);
	ask(c, WRITE("p", "NQ==", "02"), ACCEPTED); /* not the number 2 */
	ask(c, WRITE("p", "Ng==", "18446744073709551617"), ACCEPTED);
	ask(c, WRITE("p", "Ng==", "18446744073709551617"), ACCEPTED);
	STREQ(f->in.data, "123456");
	for (int i = 0; i < 4096 - 6 + 3; i++) {
		far_say(c,
			"{\"id\":1,\"method\":\"process/"
			"write\",\"params\":{\"processId\":\"p\",\"chunk\":\"\","
			"\"writeId\":\"n%d\"}}",
			i);
		STREQ(far_heard(c), ACCEPTED);
	}
	f->in.len = 0;
	ask(c, WRITE("p", "QQ==", "2"), ACCEPTED); /* 1, 3 and 2 are forgotten */
	ask(c, WRITE("p", "Qg==", "x"), ACCEPTED); /* x is, by now, too: three more came */
	EQ(f->in.len, 2);
	ask(c, WRITE("p", "Qg==", "18446744073709551617"), ACCEPTED);
	EQ(f->in.len, 2);
	far_close();
}

static char *big_write(int id, size_t len)
{
	struct buf b = BUF_INIT(BUF_ANY_SIZE);

	buf_addf(&b,
		 "{\"id\":%d,\"method\":\"process/write\",\"params\":{\"processId\":\"p\","
		 "\"writeId\":\"%d\",\"chunk\":\"",
		 id, id);
	for (size_t i = 0; i < len / 3; i++)
		buf_add(&b, "QUJD", 4);
	buf_adds(&b, "\"}}");
	return buf_take(&b);
}

TEST(waiting_writes_do_not_delay_other_requests)
{
	struct channel *c;
	struct fake_link *f;
	char *text;

	far_open(&(struct executor_options){ .write_queue = 900000 });
	c = far_client("1.2.3.4:5", NULL);
	f = start(c, START("p", PIPED));
	f->stuck = true;
	for (int i = 1; i <= 4; i++) {
		text = big_write(i, 240000);
		far_say(c, "%s", text);
		free(text);
	}
	STREQ(far_heard(c), "{\"id\":1,\"result\":{\"status\":\"accepted\"}}");
	STREQ(far_heard(c), "");
	text = big_write(5, 300000); /* the limit */
	far_say(c, "%s", text);
	free(text);
	STREQ(far_heard(c), "{\"error\":{\"code\":-32600,\"message\":\"the process does not read: "
			    "more than 900000 bytes would wait\"},\"id\":5}");
	text = big_write(3, 240000); /* again, while it waits */
	far_say(c, "%s", text);
	free(text);
	STREQ(far_heard(c), "");
	ask(c, "{\"id\":8,\"method\":\"environment/status\"}",
	    "{\"id\":8,\"result\":{\"status\":\"ready\"}}");
	far_reads(f);
	STREQ(far_heard(c), "{\"id\":2,\"result\":{\"status\":\"accepted\"}}");
	STREQ(far_heard(c), "");
	far_reads(f);
	STREQ(far_heard(c), "{\"id\":3,\"result\":{\"status\":\"accepted\"}}");
	STREQ(far_heard(c), "");
	ask(c, "{\"id\":9,\"method\":\"process/terminate\",\"params\":{\"processId\":\"p\"}}",
	    "{\"error\":{\"code\":-32603,\"message\":\"failed to write to process "
	    "stdin\"},\"id\":4}");
	OK(strstr(far_heard(c), "\"id\":3")); /* the second 3 waited behind 4 */
	STREQ(far_heard(c), "{\"id\":9,\"result\":{\"running\":true}}");
	EQ(f->how, LINK_STOP_KILL);
	far_end(f, 0, 9);
	STREQ(far_heard(c), "{\"method\":\"process/exited\",\"params\":{\"processId\":\"p\","
			    "\"seq\":1,\"exitCode\":137,\"sandboxDenied\":false}}");
	far_close();
}

TEST(a_write_larger_than_everything)
{
	struct channel *c;
	struct fake_link *f;
	char *text = big_write(1, 3000000);

	far_open(&(struct executor_options){ .write_queue = 900000 });
	c = far_client("1.2.3.4:5", NULL);
	f = start(c, START("p", PIPED));
	f->stuck = true;
	far_say(c, "%s", text);
	free(text);
	for (int i = 0; i < 100 && !*far_heard(c); i++)
		far_reads(f);
	STREQ(c->line, "{\"id\":1,\"result\":{\"status\":\"accepted\"}}");
	EQ(f->in.len, 3000000);
	for (size_t i = 0; i < f->in.len; i += 3)
		OK(memcmp(f->in.data + i, "ABC", 3) == 0);
	far_close();
}

TEST(writes_survive_their_connection)
{
	struct channel *c;
	struct fake_link *f;
	char session[37], *text;

	far_open(NULL);
	c = far_client("1.2.3.4:5", session);
	f = start(c, START("p", PIPED));
	f->stuck = true;
	text = big_write(1, 240000);
	far_say(c, "%s", text);
	free(text);
	text = big_write(2, 240000);
	far_say(c, "%s", text);
	far_hang_up(c, -ECONNRESET);
	c = far_connect("1.2.3.4:6", false);
	far_say(c,
		"{\"id\":1,\"method\":\"initialize\",\"params\":{\"clientName\":\"x\","
		"\"resumeSessionId\":\"%s\"}}",
		session);
	far_say(c, "{\"method\":\"initialized\"}");
	far_skip(c);
	far_say(c, "%s", text); /* it does not know what became of it */
	free(text);
	STREQ(far_heard(c), "");
	far_reads(f);
	STREQ(far_heard(c), "{\"id\":2,\"result\":{\"status\":\"accepted\"}}");
	EQ(f->in.len, 480000);
	far_close();
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* whose malloc would abort */
#define TEXT_BYTES (8u << 20)

/* params with a string of TEXT_BYTES in place of the %s. */
static char *with_long_text(const char *params)
{
	const char *at = strstr(params, "%s");
	struct buf b = BUF_INIT(BUF_ANY_SIZE);

	buf_add(&b, params, (size_t)(at - params));
	buf_adds(&b, "\"\\n"); /* an escape: base64 has to be copied, too */
	for (size_t i = 0; i < TEXT_BYTES; i += 16)
		buf_adds(&b, "0123456789abcdef");
	buf_addf(&b, "\"%s", at + 2);
	return buf_take(&b);
}

/* No allocation of TEXT_BYTES succeeds any more. */
static void leave_no_memory(void)
{
	FILE *f = fopen("/proc/self/statm", "re");
	unsigned long pages = 0;
	struct rlimit lim;

	OK(f && fscanf(f, "%lu", &pages) == 1);
	fclose(f);
	lim.rlim_cur = lim.rlim_max = pages * 4096 + TEXT_BYTES / 2;
	EQ(setrlimit(RLIMIT_AS, &lim), 0);
}

TEST(a_string_for_which_there_is_no_memory_is_an_error_of_its_request)
{
#define WHERE ",\"cwd\":\"file:///\",\"tty\":false,"
	static const struct {
		const char *params, *error;
		bool start;
	} rows[] = {
		{ "{\"processId\":%s}", "there is no memory for processId", true },
		{ "{\"processId\":\"p\",\"argv\":[%s]}", "there is no memory for argv", true },
		{ "{\"processId\":\"p\",\"argv\":[\"x\"],\"arg0\":%s" WHERE "\"env\":{}}",
		  "there is no memory for arg0", true },
		{ "{\"processId\":\"p\",\"argv\":[\"x\"]" WHERE "\"env\":{\"A\":%s}}",
		  "there is no memory for A", true },
		{ "{\"processId\":\"p\",\"argv\":[\"x\"]" WHERE "\"env\":{%s:\"\"}}",
		  "there is no memory for env", true },
		{ "{\"processId\":\"p\",\"chunk\":\"\",\"writeId\":%s}",
		  "there is no memory for writeId", false },
		{ "{\"processId\":\"p\",\"chunk\":%s,\"writeId\":\"1\"}",
		  "there is no memory for chunk", false },
	};
	static const size_t count = sizeof(rows) / sizeof(*rows);
	char *no_variables[] = { NULL }, *texts[sizeof(rows) / sizeof(*rows)];
	struct json params[sizeof(rows) / sizeof(*rows)];

	for (size_t i = 0; i < count; i++) {
		texts[i] = with_long_text(rows[i].params);
		EQ(json_check(texts[i], strlen(texts[i]), 0, &params[i], NULL), 0);
	}
	leave_no_memory();
	for (size_t i = 0; i < count; i++) {
		struct buf bytes = BUF_INIT(WIRE_MESSAGE_MAX);
		struct err e = ERR_INIT;

		if (rows[i].start) {
			struct spec s;

			EQ(spec_read(&s, params[i], no_variables, &e), RPC_INTERNAL);
			spec_done(&s);
		} else {
			struct orders_write w;

			EQ(orders_read_write(params[i], &w, &bytes, &e), RPC_INTERNAL);
			orders_write_done(&w);
		}
		STREQ(e.text, rows[i].error);
		buf_done(&bytes);
	}
	for (size_t i = 0; i < count; i++) /* not earlier: that would make room */
		free(texts[i]);
}
#endif
