"""The subject of a client's certificate as a text: the form that Kafka's mapping rules are written for.

That form is RFC 2253 as Java writes it: the most specific part first, `CN=alice,OU=payments,O=Acme`. Nine
attributes have short names; any other is its object identifier and its encoded value in hexadecimal.

The certificate is DER, and TLS has verified it before anybody looks here: of it only the way to the subject
is read. Whatever is not as X.509 says raises `CertificateNotMapped`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from mainstem.core.identity.errors import CertificateNotMapped

_SEQUENCE: Final = 0x30
_SET: Final = 0x31
_OBJECT_ID: Final = 0x06
_VERSION: Final = 0xA0
_ENCODINGS: Final = {  # of the string types that a name may have
    0x0C: "utf-8",
    0x12: "ascii",  # NumericString
    0x13: "ascii",  # PrintableString
    0x14: "latin-1",  # TeletexString, as everybody reads it
    0x16: "ascii",  # IA5String
    0x1C: "utf-32-be",
    0x1E: "utf-16-be",
}
_SHORT_NAMES: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.25": "DC",
    "0.9.2342.19200300.100.1.1": "UID",
}
_ESCAPED: Final = frozenset(',=+<>#;"\\')


class _Element(NamedTuple):
    tag: int
    content: bytes
    encoded: bytes  # with its tag and length


def subject_name(certificate: bytes) -> str:
    """The distinguished name of the certificate's owner."""
    try:
        return ",".join(reversed([_relative_name(part) for part in _elements(_subject(certificate))]))
    except (IndexError, ValueError, StopIteration) as error:
        raise CertificateNotMapped(
            f"the subject of the client's certificate cannot be read: {error}"
        ) from error


def _subject(certificate: bytes) -> bytes:
    """Certificate: to be signed: [version], serial, algorithm, issuer, validity, subject."""
    (outer,) = _elements(certificate)
    signed = next(_elements(_expect(outer, _SEQUENCE)))
    fields = _elements(_expect(signed, _SEQUENCE))
    first = next(fields)
    to_skip = 4 if first.tag == _VERSION else 3
    for _ in range(to_skip):
        next(fields)
    return _expect(next(fields), _SEQUENCE)


def _relative_name(part: _Element) -> str:
    """One level of the name: a set of attributes, nearly always of one."""
    return "+".join(_attribute(element) for element in _elements(_expect(part, _SET)))


def _attribute(element: _Element) -> str:
    kind, value = _elements(_expect(element, _SEQUENCE))
    object_id = _object_id(_expect(kind, _OBJECT_ID))
    short_name = _SHORT_NAMES.get(object_id)
    encoding = _ENCODINGS.get(value.tag)
    if short_name is None or encoding is None:
        return f"{short_name or object_id}=#{value.encoded.hex()}"
    return f"{short_name}={_escaped(value.content.decode(encoding))}"


def _escaped(text: str) -> str:
    escaped = "".join(f"\\{each}" if each in _ESCAPED else each for each in text)
    if escaped.startswith(" "):
        escaped = "\\" + escaped
    if escaped.endswith(" ") and len(text) > 1:
        escaped = escaped[:-1] + "\\ "
    return escaped


def _object_id(content: bytes) -> str:
    numbers: list[int] = []
    number = 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]]))


def _expect(element: _Element, tag: int) -> bytes:
    if element.tag != tag:
        raise ValueError(f"an element {element.tag:#x} where {tag:#x} is due")
    return element.content


def _elements(data: bytes) -> Iterator[_Element]:
    position = 0
    while position < len(data):
        start = position
        tag, length = data[position], data[position + 1]
        position += 2
        if length & 0x80:
            length_bytes = length & 0x7F
            if not 1 <= length_bytes <= 4:
                raise ValueError("a length that no certificate has")
            length = int.from_bytes(data[position : position + length_bytes], "big")
            position += length_bytes
        end = position + length
        if end > len(data):
            raise ValueError("it is cut short")
        yield _Element(tag, data[position:end], data[start:end])
        position = end
