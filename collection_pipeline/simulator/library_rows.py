"""One invented library as the register spells it: every value is a text, "" where it is empty.

Invariant: a row follows from (serial, version) alone and costs no memory; provider code and name
together are unique, names alone are not. Cells are empty, untrimmed, "24:00" or closed all day
about as often as in the published files.
"""

from collections.abc import Sequence
from typing import TypeVar

from collection_pipeline.simulator.library_columns import Row

_T = TypeVar("_T")
PLACES = (
    ("서울특별시", "송파구", "올림픽로"),
    ("서울특별시", "서울특별시 도봉구", "도봉로"),
    ("경기도", "성남시", "판교역로"),
    ("전북특별자치도", "군산시", "월명로"),
    ("전라북도", "전주시", "팔달로"),
    ("경상남도", "거창군", "거열로"),
    ("부산광역시", "해운대구", "센텀중앙로"),
    ("제주특별자치도", "제주시", "연삼로"),
)
STEMS = ("가온", "나래", "다온", "소나무", "마루", "바다", "새움", "아라", "자람", "초록", "파랑")
KINDS = ("작은도서관", "작은도서관", "작은도서관", "공공도서관", "공공도서관", "어린이도서관")
CLOSED_DAYS = (
    "매주 월요일+국가지정공휴일",
    "금+법정공휴일",
    '첫째, 셋째 월요일 ("문화의 날",} 제외)',
    "법정공휴일, 임시휴관일(별도 공지) 및 그 밖에 관장이 필요하다고 인정하는 날",
)
HOURS = (("09:00", "18:00"), ("09:00", "22:00"), ("10:00", "17:00"), ("09:16", "23:59"))
CLOSED_ALL_DAY = ("00:00", "00:00")
PROVIDERS = 250
SHARED_NAME_EVERY = 15
UNTRIMMED_EVERY = 100


def library_row(serial: int, version: int = 0) -> Row:
    """The row of a serial number by its English names; a higher version has other contents."""
    province, district, road = PLACES[serial % len(PLACES)]
    # A city and its education office publish the same library: one name, two providers.
    named = serial - 1 if serial % SHARED_NAME_EVERY == SHARED_NAME_EVERY - 1 else serial
    kind = KINDS[named % len(KINDS)]
    name = f"{_pick(STEMS, named)}{named}{kind}"
    weekday = ("09:00", "24:00") if serial % 40 == 7 else _pick(HOURS, serial)
    saturday = _pick(HOURS, serial // 4)
    holiday = CLOSED_ALL_DAY if serial % 3 else _pick(HOURS, serial // 5)
    provider = serial % PROVIDERS
    return {
        "lbrryNm": f"{name} " if serial % UNTRIMMED_EVERY == 42 else name,
        "ctprvnNm": province,
        "signguNm": district,
        "lbrrySe": kind,
        "closeDay": _pick(CLOSED_DAYS, serial + version),
        "weekdayOperOpenHhmm": weekday[0],
        "weekdayOperColseHhmm": weekday[1],
        "satOperOperOpenHhmm": saturday[0],
        "satOperCloseHhmm": saturday[1],
        "holidayOperOpenHhmm": holiday[0],
        "holidayCloseOpenHhmm": holiday[1],
        "seatCo": str(serial * 7 % 400),
        "bookCo": str(1_000 + serial * 37 % 90_000 + 11 * version),
        "pblictnCo": str(serial % 60),
        "noneBookCo": str(serial * 3 % 5_000),
        "lonCo": "210696" if serial % 1_000 == 600 else str(3 + serial % 8),
        "lonDaycnt": str(7 + serial % 8),
        "rdnmadr": f"{province} {district.rpartition(' ')[2]} {road} {1 + serial % 300}",
        "operInstitutionNm": "" if serial % 5 == 4 else f"{district} 도서관운영과",
        "phoneNumber": _phone(serial),
        "plotAr": "" if serial % 2 else f"{100 + serial % 3_000}",
        "buldAr": "" if serial % 8 == 5 else f"{80 + serial % 900}.{serial % 100:02d}",
        "homepageUrl": "" if serial % 8 < 3 else f"https://lib{provider}.example.kr/{serial}",
        "latitude": "" if serial % 21 == 20 else f"{33 + serial % 5_000 / 1_000:.8f}",
        "longitude": "" if serial % 21 == 20 else f"{126 + serial % 3_000 / 1_000:.7f}",
        "referenceDate": f"2026-{1 + version % 12:02d}-{1 + serial % 28:02d}",
        "insttCode": "B551014" if provider == 249 else f"{320_000 + provider * 10_000:07d}",
        "insttNm": f"{province} {district.rpartition(' ')[2]}",
    }


def _phone(serial: int) -> str:
    if serial % 17 == 16:
        return ""
    if serial % 17 == 3:
        return "1644-3227"
    return f"0{31 + serial % 30}-{200 + serial % 700}-{serial % 10_000:04d}"


def _pick(choices: Sequence[_T], place: int) -> _T:
    return choices[place % len(choices)]
