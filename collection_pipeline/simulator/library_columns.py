"""The 28 columns of the library register by the three sets of names that senders use.

Written from the wire contract: the English names keep its misspellings, the sister registers spell
three of them differently, the portal's CSV file has Korean ones.
"""

from collections.abc import Mapping

Row = dict[str, str]

KOREAN_NAMES: dict[str, str] = {
    "lbrryNm": "도서관명",
    "ctprvnNm": "시도명",
    "signguNm": "시군구명",
    "lbrrySe": "도서관유형",
    "closeDay": "휴관일",
    "weekdayOperOpenHhmm": "평일운영시작시각",
    "weekdayOperColseHhmm": "평일운영종료시각",
    "satOperOperOpenHhmm": "토요일운영시작시각",
    "satOperCloseHhmm": "토요일운영종료시각",
    "holidayOperOpenHhmm": "공휴일운영시작시각",
    "holidayCloseOpenHhmm": "공휴일운영종료시각",
    "seatCo": "열람좌석수",
    "bookCo": "자료수(도서)",
    "pblictnCo": "자료수(연속간행물)",
    "noneBookCo": "자료수(비도서)",
    "lonCo": "대출가능권수",
    "lonDaycnt": "대출가능일수",
    "rdnmadr": "소재지도로명주소",
    "operInstitutionNm": "운영기관명",
    "phoneNumber": "도서관전화번호",
    "plotAr": "부지면적",
    "buldAr": "건물면적",
    "homepageUrl": "홈페이지주소",
    "latitude": "위도",
    "longitude": "경도",
    "referenceDate": "데이터기준일자",
    "insttCode": "제공기관코드",
    "insttNm": "제공기관명",
}
ENGLISH_NAMES = tuple(KOREAN_NAMES)
SISTER_NAMES = {"ctprvnNm": "ctpvNm", "insttCode": "instt_code", "insttNm": "instt_nm"}
NAME_SETS: dict[str, Mapping[str, str]] = {
    "english": {},
    "sister": SISTER_NAMES,
    "korean": KOREAN_NAMES,
}


def renamed(row: Row, names: str) -> Row:
    """The row under another set of names (``english``, ``sister`` or ``korean``)."""
    chosen = NAME_SETS[names]
    return {chosen.get(name, name): value for name, value in row.items()}


def row_id(row: Row) -> str:
    """What the log calls a row: its provider's code and its name."""
    return f"{row.get('insttCode', '').strip()}/{row.get('lbrryNm', '').strip()}"
