/* json_vectors.h - texts that are JSON and texts that are not, by RFC 8259. Our own. */
#pragma once

#include <stddef.h>

/* A text may have NULs in it. */
#define T(literal) literal, sizeof(literal) - 1

static const struct good {
	const char *text;
	size_t len;
} good[] = {
	/* one value of each kind is a text */
	{ T("null") },
	{ T("true") },
	{ T("false") },
	{ T("0") },
	{ T("\"\"") },
	{ T("[]") },
	{ T("{}") },
	/* space */
	{ T(" \t\r\n[ \t\r\n] \t\r\n") },
	{ T(" \t\r\n{ \t\r\n\"a\" \t\r\n: \t\r\n1 \t\r\n, \t\r\n\"b\" \t\r\n:\n2 \t\r\n} \t\r\n") },
	{ T("[1 ,2, 3\n]") },
	{ T("                                                                 7") },
	/* numbers */
	{ T("-0") },
	{ T("-1") },
	{ T("10") },
	{ T("1234567890123456789012345678901234567890") },
	{ T("0.0") },
	{ T("-0.5") },
	{ T("1.000000000000000000000000000000001") },
	{ T("0e0") },
	{ T("0E+0") },
	{ T("1e5") },
	{ T("1E5") },
	{ T("1e+5") },
	{ T("1e-5") },
	{ T("1.5e00005") },
	{ T("1e400") },
	{ T("1e-400") },
	{ T("[0,-0,0.1,-1e2]") },
	/* strings */
	{ T("\"a\"") },
	{ T("\"1234567\"") },
	{ T("\"12345678\"") },
	{ T("\"123456789\"") },
	{ T("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"") },
	{ T("\"\\u0000\\u001f\\uABCD\\uabcd\"") },
	{ T("\"\\ud83d\\udea2\"") },
	{ T("\"\\ud800\"") }, /* half a pair: RFC 8259 section 8.2 lets it pass */
	{ T("\"\\udc00\\ud800\"") },
	{ T("\"\x7f\"") },
	{ T("\"/\"") },
	{ T("\"// no comment /* either */\"") },
	{ T("\" [ ] { } , : \"") },
	/* UTF-8: the first and the last of every length, and the neighbours of what is forbidden */
	{ T("\"\xc2\x80\xdf\xbf\"") },
	{ T("\"\xe0\xa0\x80\xef\xbf\xbf\"") },
	{ T("\"\xed\x9f\xbf\xee\x80\x80\"") },
	{ T("\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"") },
	{ T("\"\xef\xbb\xbf\"") }, /* a BOM in a string is a character */
	{ T("\"\xe2\x80\xa8\xe2\x80\xa9\"") },
	{ T("\"aaaaaaa\xc3\xa4\xe2\x9a\x93\xf0\x9f\x9a\xa2zzzzzzzzzzzz\"") },
	/* arrays and objects */
	{ T("[[[[[]]]],[[]]]") },
	{ T("[null,true,false,0,\"\",[],{}]") },
	{ T("{\"\":0}") },
	{ T("{\"a\":1,\"a\":2}") },
	{ T("{\"a\":{\"b\":{\"c\":[{}]}}}") },
	{ T("{\"a\":[],\"b\":{},\"c\":\"\",\"d\":null}") },
	{ T("{\"\\u0061\\n\":1}") },
};

static const struct bad {
	const char *text;
	size_t len;
	size_t offset;
	const char *reason;
} bad[] = {
	/* nothing, too little, too much */
	{ T(""), 0, "a value is expected" },
	{ T(" \n"), 2, "a value is expected" },
	{ T("["), 1, "a value is expected" },
	{ T("{"), 1, "a key in quotes is expected" },
	{ T("[1"), 2, "',' or ']' is expected" },
	{ T("[1,"), 3, "a value is expected" },
	{ T("{\"a\""), 4, "':' is expected behind a key" },
	{ T("{\"a\":"), 5, "a value is expected" },
	{ T("{\"a\":1"), 6, "',' or '}' is expected" },
	{ T("{\"a\":1,"), 7, "a key in quotes is expected" },
	{ T("1 2"), 2, "something follows the value" },
	{ T("[]]"), 2, "something follows the value" },
	{ T("{}}"), 2, "something follows the value" },
	{ T("{},"), 2, "something follows the value" },
	{ T("[]\0"), 2, "something follows the value" },
	{ T("nullnull"), 4, "something follows the value" },
	{ T("]"), 0, "a value is expected" },
	{ T("}"), 0, "a value is expected" },
	{ T(","), 0, "a value is expected" },
	{ T(":"), 0, "a value is expected" },
	/* space that is none */
	{ T("[\f]"), 1, "a value is expected" },
	{ T("[\v1]"), 1, "a value is expected" },
	{ T("\xc2\xa0[]"), 0, "a value is expected" },
	{ T("[1\0]"), 2, "',' or ']' is expected" },
	{ T("\xef\xbb\xbf[]"), 0, "a value is expected" },
	/* what only the relaxed mode takes */
	{ T("[1,]"), 3, "a value is expected" },
	{ T("{\"a\":1,}"), 7, "a key in quotes is expected" },
	{ T("// x\n1"), 0, "a value is expected" },
	{ T("/**/1"), 0, "a value is expected" },
	{ T("1/**/"), 1, "something follows the value" },
	{ T("[1/**/]"), 2, "',' or ']' is expected" },
	/* commas and colons */
	{ T("[,]"), 1, "a value is expected" },
	{ T("[,1]"), 1, "a value is expected" },
	{ T("[1,,2]"), 3, "a value is expected" },
	{ T("[1 2]"), 3, "',' or ']' is expected" },
	{ T("[1}"), 2, "',' or ']' is expected" },
	{ T("[1:2]"), 2, "',' or ']' is expected" },
	{ T("{,}"), 1, "a key in quotes is expected" },
	{ T("{\"a\" 1}"), 5, "':' is expected behind a key" },
	{ T("{\"a\",1}"), 4, "':' is expected behind a key" },
	{ T("{\"a\"}"), 4, "':' is expected behind a key" },
	{ T("{\"a\":}"), 5, "a value is expected" },
	{ T("{\"a\"::1}"), 5, "a value is expected" },
	{ T("{\"a\":1 \"b\":2}"), 7, "',' or '}' is expected" },
	{ T("{\"a\":1]"), 6, "',' or '}' is expected" },
	{ T("{\"a\":1:2}"), 6, "',' or '}' is expected" },
	{ T("{a:1}"), 1, "a key in quotes is expected" },
	{ T("{1:1}"), 1, "a key in quotes is expected" },
	{ T("{'a':1}"), 1, "a key in quotes is expected" },
	{ T("{null:1}"), 1, "a key in quotes is expected" },
	{ T("{[]:1}"), 1, "a key in quotes is expected" },
	{ T("['a']"), 1, "a value is expected" },
	/* words */
	{ T("nul"), 3, "true, false or null is misspelt" },
	{ T("nulL"), 3, "true, false or null is misspelt" },
	{ T("tru"), 3, "true, false or null is misspelt" },
	{ T("fals]"), 4, "true, false or null is misspelt" },
	{ T("True"), 0, "a value is expected" },
	{ T("NaN"), 0, "a value is expected" },
	{ T("Infinity"), 0, "a value is expected" },
	{ T("-Infinity"), 1, "a digit is expected behind '-'" },
	{ T("undefined"), 0, "a value is expected" },
	{ T("[nan]"), 2, "true, false or null is misspelt" },
	{ T("truee"), 4, "something follows the value" },
	/* numbers */
	{ T("-"), 1, "a digit is expected behind '-'" },
	{ T("--1"), 1, "a digit is expected behind '-'" },
	{ T("+1"), 0, "a value is expected" },
	{ T(".5"), 0, "a value is expected" },
	{ T("-.5"), 1, "a digit is expected behind '-'" },
	{ T("1."), 2, "a digit is expected behind the decimal point" },
	{ T("1.e5"), 2, "a digit is expected behind the decimal point" },
	{ T("[1.]"), 3, "a digit is expected behind the decimal point" },
	{ T("1.5.5"), 3, "something follows the value" },
	{ T("00"), 1, "a number begins with 0" },
	{ T("01"), 1, "a number begins with 0" },
	{ T("-01"), 2, "a number begins with 0" },
	{ T("1e"), 2, "a digit is expected in the exponent" },
	{ T("1E+"), 3, "a digit is expected in the exponent" },
	{ T("1e-x"), 3, "a digit is expected in the exponent" },
	{ T("1e5.5"), 3, "something follows the value" },
	{ T("0x10"), 1, "something follows the value" },
	{ T("1_000"), 1, "something follows the value" },
	{ T("1 000"), 2, "something follows the value" },
	{ T("1,5"), 1, "something follows the value" },
	{ T("\xef\xbc\x91"), 0, "a value is expected" }, /* a wide digit */
	/* strings */
	{ T("\""), 1, "a string is not closed" },
	{ T("\"a"), 2, "a string is not closed" },
	{ T("\"12345678"), 9, "a string is not closed" },
	{ T("\"\\\""), 3, "a string is not closed" },
	{ T("\"\\"), 2, "a string is not closed" },
	{ T("\"\\u"), 3, "a string is not closed" },
	{ T("\"\\u12"), 5, "a string is not closed" },
	{ T("[\"a]"), 4, "a string is not closed" },
	{ T("\"a\nb\""), 2, "a control character in a string" },
	{ T("\"a\tb\""), 2, "a control character in a string" },
	{ T("\"a\0b\""), 2, "a control character in a string" },
	{ T("\"\x1f\""), 1, "a control character in a string" },
	{ T("\"12345678\x01\""), 9, "a control character in a string" },
	{ T("{\"\n\":1}"), 2, "a control character in a string" },
	{ T("\"\\a\""), 2, "no such escape" },
	{ T("\"\\'\""), 2, "no such escape" },
	{ T("\"\\x41\""), 2, "no such escape" },
	{ T("\"\\0\""), 2, "no such escape" },
	{ T("\"\\U0041\""), 2, "no such escape" },
	{ T("\"\\\n\""), 2, "no such escape" },
	{ T("\"\\\xc3\xa4\""), 2, "no such escape" },
	{ T("\"\\u123\""), 6, "\\u needs four hexadecimal digits" },
	{ T("\"\\u12G4\""), 5, "\\u needs four hexadecimal digits" },
	{ T("\"\\u-123\""), 3, "\\u needs four hexadecimal digits" },
	{ T("\"\\u{41}\""), 3, "\\u needs four hexadecimal digits" },
	/* not UTF-8 */
	{ T("\"\x80\""), 1, "a character is not UTF-8" },
	{ T("\"ab\xbf\""), 3, "a character is not UTF-8" },
	{ T("\"\xc0\xaf\""), 1, "a character is not UTF-8" }, /* overlong */
	{ T("\"\xc1\xbf\""), 1, "a character is not UTF-8" },
	{ T("\"\xe0\x80\xaf\""), 1, "a character is not UTF-8" },
	{ T("\"\xe0\x9f\xbf\""), 1, "a character is not UTF-8" },
	{ T("\"\xf0\x80\x80\xaf\""), 1, "a character is not UTF-8" },
	{ T("\"\xf0\x8f\xbf\xbf\""), 1, "a character is not UTF-8" },
	{ T("\"\xed\xa0\x80\""), 1, "a character is not UTF-8" }, /* surrogates */
	{ T("\"\xed\xbf\xbf\""), 1, "a character is not UTF-8" },
	{ T("\"\xf4\x90\x80\x80\""), 1, "a character is not UTF-8" }, /* beyond the last */
	{ T("\"\xf5\x80\x80\x80\""), 1, "a character is not UTF-8" },
	{ T("\"\xff\""), 1, "a character is not UTF-8" },
	{ T("\"\xfe\xff\""), 1, "a character is not UTF-8" },
	{ T("\"\xc3\""), 1, "a character is not UTF-8" }, /* cut off */
	{ T("\"\xe2\x9a\""), 1, "a character is not UTF-8" },
	{ T("\"\xf0\x9f\x9a\""), 1, "a character is not UTF-8" },
	{ T("\"\xc3"), 1, "a character is not UTF-8" },
	{ T("\"\xc3\xa4\xe2\x9a\x93x\xe2\x28\xa1\""), 7, "a character is not UTF-8" },
	{ T("\"\xe4\xe4\""), 1, "a character is not UTF-8" }, /* Latin-1 */
	{ T("[\xc3\xa4]"), 1, "a value is expected" },
	/* other encodings */
	{ T("\xff\xfe[\0]\0"), 0, "a value is expected" },
	{ T("\0[\0]"), 0, "a value is expected" },
};
