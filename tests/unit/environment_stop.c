/* environment_stop.c - links are stopped, in every state, and the executor plays along */
#include "t.h"

#include "base/auto.h"
#include "unit/fake_executor.h"

TEST(stop_before_the_connection)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	EQ(far_link(&f, &u), 0);
	link_stop(u.link, LINK_STOP_EOF);
	EQ(u.ended, 0); /* not from inside */
	fake_pass(0);
	EQ(u.ended, 1);
	EQ(u.end.pid, 0);
	OK(!u.end.refused);
	EQ(u.end.proof, LINK_PROOF_NEVER);
	OK(far_attach(&f, FAR_KILLICK));
	STREQ(far_sent(&f), ""); /* no start */
	fake_pass(1000);
	OK(!fake.channel);
	far_close(&f);
}

TEST(stop_before_the_start_is_answered)
{
	AUTO(user_done) struct user u = { .link = NULL };
	uint64_t start, end;
	struct far f;

	far_open(&f);
	EQ(far_link(&f, &u), 0);
	OK(far_attach(&f, FAR_KILLICK));
	start = far_asked(&f, "process/start");
	link_stop(u.link, LINK_STOP_EOF);
	end = far_asked(&f, "process/terminate");
	far_answer(start, "{\"pid\":7}");
	far_answer(end, "{\"running\":true}");
	EQ(u.ended, 0);
	link_stop(u.link, LINK_STOP_TERM); /* is not weaker, and not stronger either */
	OK(far_asked(&f, "process/terminate"));
	link_stop(u.link, LINK_STOP_EOF);
	STREQ(far_sent(&f), "");
	link_stop(u.link, LINK_STOP_KILL);
	OK(far_asked(&f, "process/terminate"));
	OK(!strstr(f.line, "graceMs"));
	far_exited("k1", 1, 143);
	far_closed("k1", 2, FAR_REPORT);
	EQ(u.ended, 1);
	far_close(&f);
}

TEST(a_terminate_that_was_handled_before_the_start)
{
	AUTO(user_done) struct user u = { .link = NULL };
	uint64_t start, end;
	struct far f;

	far_open(&f);
	EQ(far_link(&f, &u), 0);
	OK(far_attach(&f, FAR_KILLICK));
	start = far_asked(&f, "process/start");
	link_stop(u.link, LINK_STOP_KILL);
	end = far_asked(&f, "process/terminate");
	far_answer(end, "{\"running\":false}");
	STREQ(far_sent(&f), "");
	far_answer(start, "{\"pid\":7}");
	end = far_asked(&f, "process/terminate");
	OK(end);
	EQ(u.ended, 0);
	far_answer(end, "{\"running\":true}");
	far_closed("k1", 1, FAR_REPORT);
	EQ(u.ended, 1);
	far_close(&f);
}

TEST(a_process_that_is_not_known_any_more)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	link_stop(u.link, LINK_STOP_EOF);
	far_answer(far_asked(&f, "process/terminate"), "{\"running\":false}");
	far_refuse(far_asked(&f, "process/read"), -32600, "unknown process id k1");
	EQ(u.ended, 1);
	EQ(u.end.proof, 0);
	OK(strstr(u.end.text, "does not know the server"));
	far_close(&f);
}

TEST(a_process_that_was_closed_already)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	link_stop(u.link, LINK_STOP_EOF);
	far_answer(far_asked(&f, "process/terminate"), "{\"running\":false}");
	far_answer(far_asked(&f, "process/read"),
		   "{\"chunks\":[],\"nextSeq\":3,\"exited\":true,\"exitCode\":0,\"closed\":true,"
		   "\"report\":" FAR_REPORT "}");
	EQ(u.ended, 1);
	EQ(u.end.proof, LINK_PROOF_WAITID | LINK_PROOF_CGROUP);
	far_closed("k1", 2, FAR_REPORT); /* and then it comes */
	far_close(&f);
}

TEST(an_executor_that_does_not_report_the_end)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	link_stop_within(u.link, LINK_STOP_EOF, 100);
	far_answer(far_asked(&f, "process/terminate"), "{\"running\":true}");
	OK(strstr(f.line, "\"graceMs\":100"));
	for (int i = 0; i < 2; i++) { /* it is there, and says so */
		fake_pass(3500);
		far_say("{\"method\":\"x\"}");
	}
	fake_pass(199);
	EQ(u.ended, 0);
	fake_pass(1);
	EQ(u.ended, 1);
	EQ(u.end.proof, 0);
	far_close(&f);
}

TEST(stop_from_inside_of_an_event)
{
	AUTO(user_done) struct user u = { .stop_on_bytes = true };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	far_output("k1", 2, "stdout", "b");
	OK(far_asked(&f, "process/read"));
	far_output("k1", 1, "stdout", "a");
	STREQ(user_out(&u), "ab");
	OK(far_asked(&f, "process/terminate"));
	STREQ(far_sent(&f), "");
	far_closed("k1", 3, FAR_REPORT);
	EQ(u.ended, 1);
	far_close(&f);
}

TEST(an_interrupt)
{
	AUTO(user_done) struct user u = { .link = NULL };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	link_interrupt(u.link);
	OK(far_asked(&f, "process/signal"));
	OK(far_says(&f, "signal", "interrupt"));
	far_closed("k1", 1, FAR_REPORT);
	EQ(u.ended, 1);
	far_close(&f);
}

TEST(a_link_that_is_kept_after_its_end)
{
	AUTO(user_done) struct user u = { .keep = true };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &u, FAR_KILLICK));
	far_closed("k1", 1, FAR_REPORT);
	EQ(u.ended, 1);
	EQ(environment_users(f.env), 1);
	fake_pass(5000);
	EQ(link_write(u.link, "x", 1), -EPIPE);
	link_stop(u.link, LINK_STOP_KILL);
	link_interrupt(u.link);
	link_free(u.link);
	EQ(environment_users(f.env), 0);
	far_close(&f);
}

TEST(a_new_user_while_it_is_being_closed)
{
	AUTO(user_done) struct user a = { .link = NULL };
	AUTO(user_done) struct user b = { .link = NULL };
	struct far f;

	far_open(&f);
	OK(far_run(&f, &a, FAR_KILLICK));
	far_closed("k1", 1, FAR_REPORT);
	while (fake.channel && !fake.channel->closing) /* up to the close, and not what follows */
		OK(fake_fire(fake_now_us + 2000000));
	EQ(far_link(&f, &b), 0);
	EQ(fake.connects, 1);
	fake_pass(0);
	EQ(fake.connects, 2);
	OK(far_attach(&f, FAR_KILLICK));
	far_refuse(far_asked(&f, "process/start"), -32603, "no");
	EQ(b.ended, 1);
	far_close(&f);
}
