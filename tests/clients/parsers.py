#!/usr/bin/env python3
"""parsers.py DIR - do the parsers of Python read the wrapped files of the corpus as they should?

For each pair NNNN-SHAPE-old.X and NNNN-SHAPE-new.X in DIR: the same document, but for the words of
servers that were wrapped: killick, run, --, and then the old words;
or killick, connect, --server, the name, --, and then the old words. Shares no code with killick.
Exit status 77: a parser is missing.
"""
import json
import os
import re
import sys

try:
    import tomllib
    import yaml
except ImportError as missing:
    print(f'# {missing}')
    sys.exit(77)

SHELL = ['/bin/sh', '-fc', 'eval "$0" \'"$@"\'']
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.S)


def strict(text):
    """JSON without its comments and trailing commas."""
    text = TOKEN.sub(lambda m: m.group() if m.group()[0] == '"' else ' ', text)
    return re.sub(r'"(?:\\.|[^"\\])*"|,(?=\s*[\]}])', lambda m: m.group() if m.group()[0] == '"' else '', text)


class Pairs(list):
    """An object whose names may come twice."""


def load(path):
    with open(path, encoding='utf-8-sig', newline='') as f:
        text = f.read()
    if path.endswith('.toml'):
        return plain(tomllib.loads(text))
    if path.endswith('.yaml'):
        return plain(yaml.safe_load(text))
    return json.loads(strict(text), object_pairs_hook=Pairs)


def plain(value):
    if isinstance(value, dict):
        return Pairs((k, plain(v)) for k, v in value.items())
    if isinstance(value, list):
        return [plain(v) for v in value]
    return value


def get(pairs, key):
    found = [v for k, v in pairs if k == key] if isinstance(pairs, Pairs) else []
    return found[-1] if found else None


def words(server):
    """The words that a client would execute, and the server without them."""
    home = server
    key = 'cmd' if get(server, 'cmd') is not None else 'command'
    if isinstance(get(server, 'command'), Pairs):
        home, key = get(server, 'command'), 'path'
    command = get(home, key)
    if command is None:
        return None, server
    argv = list(command) if isinstance(command, list) else [command] + list(get(home, 'args') or [])
    rest = [(k, v) for k, v in home if k not in (key, 'args')]
    if home is not server:
        rest = [(k, v) for k, v in server if k != 'command'] + rest
    return argv, rest


def servers(doc, shape):
    """(servers as name and value, the rest of the document)"""
    key = {'servers': 'servers', 'zed': 'context_servers', 'zed-object': 'context_servers', 'codex': 'mcp_servers',
           'goose': 'extensions', 'opencode1': 'mcp', 'opencode2': 'mcp'}.get(shape, 'mcpServers')
    found = get(doc, key) or Pairs()
    if shape == 'opencode2':
        found = get(found, 'servers')
    if shape == 'continue':
        found = Pairs((s and get(s, 'name'), s) for s in found)
    return found, [(k, v) for k, v in doc if k != key]


def unwrapped(argv, name):
    if argv[:3] == ['killick', 'run', '--']:
        rest = argv[3:]
    elif argv[:5] == ['killick', 'connect', '--server', name, '--']:
        rest = argv[5:]
    elif argv[:3] == ['killick', 'connect', '--'] and (not name or re.search('^-|[\0-\x1f$%{}`\\\\\x7f]', name)):
        rest = argv[3:]
    else:
        return None
    return rest[3:] if rest[:3] == SHELL else rest


def compare(old_path, shape):
    old, new = load(old_path), load(old_path.replace('-old.', '-new.'))
    (a, rest_a), (b, rest_b) = servers(old, shape), servers(new, shape)
    assert rest_a == rest_b and len(a) == len(b), 'the rest of the file changed'
    changed = 0
    for (name_a, x), (name_b, y) in zip(a, b):
        assert name_a == name_b
        (argv_a, other_a), (argv_b, other_b) = words(x), words(y)
        assert other_a == other_b, f'{name_a}: other members changed'
        if argv_a == argv_b:
            continue
        assert unwrapped(argv_b, name_a) == argv_a, f'{name_a}: {argv_a} became {argv_b}'
        changed += 1
    return changed


def main():
    files = changed = 0
    for name in sorted(os.listdir(sys.argv[1])):
        if '-old.' not in name:
            continue
        shape = name.split('-', 1)[1].rsplit('-', 1)[0]
        try:
            changed += compare(os.path.join(sys.argv[1], name), shape)
        except Exception as wrong: # any disagreement, also of a parser
            print(f'# {name}: {type(wrong).__name__}: {wrong}')
            sys.exit(1)
        files += 1
    print(f'# {files} files, {changed} servers read by json, tomllib and yaml')
    sys.exit(0 if files >= 200 and changed >= 200 else 1)


main()
