/* sha256.c - the digests that everybody else gets. */
#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

#include "../t.h"

static const char *digest(const void *bytes, size_t len)
{
	static char hex[SHA256_HEX_SIZE];
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, bytes, len);
	sha256_hex(&s, hex);
	return hex;
}

/* FIPS 180-4 and its examples. */
TEST(sha256_of_the_standard)
{
	STREQ(digest("", 0), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	STREQ(digest("abc", 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	STREQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56),
	      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	STREQ(digest("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
		     "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu",
		     112),
	      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
}

TEST(sha256_of_a_million)
{
	static char a[1000000];

	memset(a, 'a', sizeof(a));
	STREQ(digest(a, sizeof(a)),
	      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* Lengths around the edges of a block; one digest over all of them, made by Python's hashlib. */
TEST(sha256_of_every_length)
{
	struct sha256 all;
	char hex[SHA256_HEX_SIZE], x[200];

	memset(x, 'x', sizeof(x));
	sha256_init(&all);
	for (size_t n = 0; n < sizeof(x); n++)
		sha256_add(&all, digest(x, n), 64);
	sha256_hex(&all, hex);
	STREQ(hex, "f61ffcc417e1f0e59eba2da7fa32fbe05b64e478b68c6bacf990455f00248b98");
}

TEST(sha256_in_pieces_is_sha256)
{
	char bytes[300], whole[SHA256_HEX_SIZE], pieces[SHA256_HEX_SIZE];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)t_random();
	memcpy(whole, digest(bytes, sizeof(bytes)), sizeof(whole));
	for (size_t cut = 0; cut <= sizeof(bytes); cut++) {
		struct sha256 s;

		sha256_init(&s);
		sha256_add(&s, bytes, cut);
		sha256_add(&s, bytes + cut, sizeof(bytes) - cut);
		sha256_hex(&s, pieces);
		STREQ(pieces, whole);
	}
	for (int round = 0; round < 200; round++) {
		struct sha256 s;

		sha256_init(&s);
		for (size_t at = 0; at < sizeof(bytes);) {
			size_t n = (size_t)(t_random() % 90);

			n = n < sizeof(bytes) - at ? n : sizeof(bytes) - at;
			sha256_add(&s, bytes + at, n);
			at += n;
		}
		sha256_hex(&s, pieces);
		STREQ(pieces, whole);
	}
}

/* RFC 4231: a key that is shorter than SHA256_SIZE is filled up with zeros. */
TEST(hmac_of_the_standard)
{
	static const struct {
		unsigned char key[SHA256_SIZE];
		const char *text, *mac;
	} rows[] = {
		{ { 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b,
		    0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b, 0x0b },
		  "Hi There",
		  "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7" },
		{ "Jefe", "what do ya want for nothing?",
		  "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843" },
	};

	for (size_t i = 0; i < 2; i++) {
		unsigned char mac[SHA256_SIZE];
		char hex[SHA256_HEX_SIZE];

		sha256_hmac(rows[i].key, rows[i].text, strlen(rows[i].text), mac);
		for (size_t k = 0; k < sizeof(mac); k++)
			snprintf(hex + 2 * k, 3, "%02x", mac[k]);
		STREQ(hex, rows[i].mac);
	}
}
