"""JSON as hooks see it: nothing in it can be changed, and numbers are written as they were read."""
import copy
import json
from collections.abc import Mapping
from typing import Any, NoReturn


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise TypeError("this is shared and cannot be changed: change a copy, such as copy.deepcopy(it)")


class FrozenDict(dict[str, Any]):
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return {key: copy.deepcopy(value, memo) for key, value in self.items()}

    __copy__ = dict.copy


class FrozenList(list[Any]):
    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = clear = extend = insert = pop = remove = _refuse
    reverse = sort = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [copy.deepcopy(value, memo) for value in self]

    __copy__ = list.copy


class Number(float):
    """A number that Python would write in another way, such as 1.10 or 1e400."""
    text: str

    def __deepcopy__(self, memo: dict[int, Any]) -> "Number":
        return self


def _float(text: str) -> float:
    n = float(text)
    return n if repr(n) == text else _number(text)


def _int(text: str) -> float:
    return _number(text) if len(text) > 4000 or text == "-0" else int(text)


def _number(text: str) -> Number:
    n = Number(text)
    n.text = text
    return n


def frozen(value: Any) -> Any:
    """Returns a value in which its own lists and objects cannot be changed; those inside are so already."""
    if type(value) is list:
        return FrozenList(map(frozen, value))
    return FrozenDict(value) if type(value) is dict else value


def _object(pairs: list[tuple[str, Any]]) -> FrozenDict:
    return FrozenDict((key, frozen(value)) for key, value in pairs)


def parse(data: bytes) -> Any:
    return frozen(json.loads(data, object_pairs_hook=_object, parse_float=_float, parse_int=_int))


def write(value: Any) -> bytes:
    out: list[str] = []
    _write(value, out)
    return "".join(out).encode()


def _write(value: Any, out: list[str]) -> None:
    if isinstance(value, Number):
        out.append(value.text)
    elif isinstance(value, Mapping):
        before = "{"
        for key, member in value.items():
            if not isinstance(key, str):
                raise ValueError(f"a key of an object is {key!r}, which is no string")
            out.append(f"{before}{json.dumps(key)}:")
            _write(member, out)
            before = ","
        out.append("}" if value else "{}")
    elif isinstance(value, (list, tuple)):
        before = "["
        for member in value:
            out.append(before)
            _write(member, out)
            before = ","
        out.append("]" if value else "[]")
    else:
        out.append(json.dumps(value, allow_nan=False))
