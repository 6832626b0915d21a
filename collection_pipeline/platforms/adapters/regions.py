"""The 시도 of a location in its short name, or nothing: a region is recognised, never guessed.

Korean locations begin with the 시도 (``서울 강남구``, ``서울특별시 ...``, ``부산 > 부산진구``);
company boards write ``Seoul, South Korea`` or ``성동구, 서울``, so the other words come next.
"""

import re
from functools import lru_cache

from collection_pipeline.platforms.adapters.text import REMEMBERED_CHARS, REMEMBERED_TEXTS

_KOREAN_NAMES: dict[str, tuple[str, ...]] = {
    "서울": ("서울특별시", "서울시"),
    "부산": ("부산광역시", "부산시"),
    "대구": ("대구광역시", "대구시"),
    "인천": ("인천광역시", "인천시"),
    # 광주시 is left out: it is also a city of 경기.
    "광주": ("광주광역시",),
    "대전": ("대전광역시", "대전시"),
    "울산": ("울산광역시", "울산시"),
    "세종": ("세종특별자치시", "세종시"),
    "경기": ("경기도",),
    "강원": ("강원도", "강원특별자치도"),
    "충북": ("충청북도",),
    "충남": ("충청남도",),
    "전북": ("전라북도", "전북특별자치도"),
    "전남": ("전라남도",),
    "경북": ("경상북도",),
    "경남": ("경상남도",),
    "제주": ("제주도", "제주특별자치도"),
}
_ENGLISH_NAMES = {
    "seoul": "서울",
    "busan": "부산",
    "daegu": "대구",
    "incheon": "인천",
    "daejeon": "대전",
    "ulsan": "울산",
    "sejong": "세종",
    "gyeonggi": "경기",
    "gyeonggi-do": "경기",
    "jeju": "제주",
    "jeju-do": "제주",
}
_BY_NAME = {name: short for short, longer in _KOREAN_NAMES.items() for name in (short, *longer)}
_AMBIGUOUS = "광주"
_COUNTRY = frozenset({"대한민국", "한국"})
_WORD_BREAKS = re.compile(r"[\s,;>/|()·]+")


def region_of(location: str | None) -> str | None:
    """The short 시도 name that ``location`` begins with, such as ``서울`` or ``경기``."""
    if location is None:
        return None
    return (_recognised_again if len(location) <= REMEMBERED_CHARS else _recognised)(location)


def _recognised(location: str) -> str | None:
    words = [word for word in _WORD_BREAKS.split(location) if word and word not in _COUNTRY]
    if words and words[0] in _BY_NAME:
        return _BY_NAME[words[0]]
    later = (_BY_NAME.get(word) or _ENGLISH_NAMES.get(word.lower()) for word in words)
    return next((short for short in later if short not in {None, _AMBIGUOUS}), None)


_recognised_again = lru_cache(REMEMBERED_TEXTS)(_recognised)
