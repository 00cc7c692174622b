/* protocol_ways.h - the functions in the table of the ways. */
#pragma once

#include "protocol.h"

/* protocol_lines.c: unusual lines, and bytes between lines */
void put_twice(const char *line, size_t len);
void put_drip(const char *line, size_t len);
void put_trickle(const char *line, size_t len);
void put_bare(const char *line, size_t len);
void put_crlf(const char *line, size_t len);
void put_bom(const char *line, size_t len);
void put_chatty(const char *line, size_t len);
void put_header(const char *line, size_t len);
void put_batch(const char *line, size_t len);
bool before_endless(const struct request *rq);
bool before_huge(const struct request *rq);
bool before_not_utf8(const struct request *rq);
bool before_nul(const struct request *rq);
bool before_deep(const struct request *rq);
bool before_twokeys(const struct request *rq);
bool before_errflood(const struct request *rq);
bool before_noteflood(const struct request *rq);
bool before_pingflood(const struct request *rq);

/* protocol_calls.c: wrong answers, or other messages instead of an answer */
bool before_wrongid(const struct request *rq);
bool before_strangeids(const struct request *rq);
bool before_stringid(const struct request *rq);
bool before_nullid(const struct request *rq);
bool before_noresult(const struct request *rq);
bool before_both(const struct request *rq);
bool before_badshape(const struct request *rq);
bool before_notjson(const struct request *rq);
bool before_samecursor(const struct request *rq);
bool before_pages(const struct request *rq);
bool before_shifting(const struct request *rq);
bool before_cancels(const struct request *rq);
void after_lateprogress(const struct request *rq);
bool before_samples(const struct request *rq);
bool before_askflood(const struct request *rq);
bool before_asksall(const struct request *rq);
bool before_closeout(const struct request *rq);
void after_closein(const struct request *rq);
bool before_stopread(const struct request *rq);
void eof_posthumous(void);

/* protocol_tasks.c: tools that are called as tasks */
bool before_tasks(const struct request *rq);
void begin_tasks(void);

/* protocol_tagged.c: every kind of state, with tags */
void begin_tagged(void);
void begin_folds(void);
bool before_tagged(const struct request *rq);
void put_lies(const char *line, size_t len);

/* protocol_handshake.c: errors during the handshake */
bool before_mute(const struct request *rq);
bool before_refuses(const struct request *rq);
bool before_badinit(const struct request *rq);
bool before_noversion(const struct request *rq);
bool before_early(const struct request *rq);
bool before_slowstart(const struct request *rq);
bool before_busystart(const struct request *rq);
bool before_writestart(const struct request *rq);
bool before_childstart(const struct request *rq);
bool before_dies(const struct request *rq);
void after_diesready(const struct request *rq);
bool before_probedeath(const struct request *rq);
bool before_probesilent(const struct request *rq);
void begin_diesnow(void);
void begin_old(void);
void begin_unannounced(void);
void begin_says(void);
void begin_reads(void);
void begin_browses(void);
void begin_ttl(void);
void after_asksroots(const struct request *rq);
void begin_bare(void);
void begin_flagged(void);
void begin_uris(void);
void begin_future(void);
void begin_batch(void);
void begin_slowread(void);
