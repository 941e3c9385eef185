# What is read and written again is the same to the byte, and what is read cannot be changed.
import copy

from plughook.exactjson import parse, write

for text in ('1', '-0', '1.10', '1e400', '1E2', '9007199254740993', '-0.0', '1' * 5000, '{"a":[1.50,{"b":null}],"c":""}', '[]', '{}', r'"\ud800 \u00e9"', 'true'):
    assert write(parse(text.encode())).decode() == text, text
assert write({**parse(b'{"a":1.50}'), "b": (1, [2.5])}) == b'{"a":1.50,"b":[1,[2.5]]}'

read = parse(b'{"a":[{"b":[1.50]}]}')
for change in (
    lambda: read.update(c=1),
    lambda: read["a"].append(1),
    lambda: read["a"][0].pop("b"),
    lambda: read["a"][0]["b"].__setitem__(0, 2),
    lambda: parse(b'[[1]]')[0].append(2),
):
    try:
        change()
    except TypeError:
        continue
    raise AssertionError("it was changed")
own = copy.deepcopy(read)
own["a"][0]["b"].append(2)
assert write(own) == b'{"a":[{"b":[1.50,2]}]}' and write(read) == b'{"a":[{"b":[1.50]}]}'
for bad in ({1: 2}, float("inf"), object()):
    try:
        write(bad)
    except (ValueError, TypeError):
        continue
    raise AssertionError(bad)
