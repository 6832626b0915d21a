"""The words that invented postings are made of. No real company is named here."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class District:
    """One place as the platforms spell it (short city, full city, Saramin code, Wanted key)."""

    city: str
    full_city: str
    name: str
    saramin_code: str
    wanted_key: str
    road: str


DISTRICTS = (
    District("서울", "서울특별시", "강남구", "101010", "seoul.gangnam-gu", "테헤란로"),
    District("서울", "서울특별시", "서초구", "101150", "seoul.seocho-gu", "강남대로"),
    District("서울", "서울특별시", "송파구", "101160", "seoul.songpa-gu", "올림픽로"),
    District("서울", "서울특별시", "성동구", "101200", "seoul.seongdong-gu", "왕십리로"),
    District("서울", "서울특별시", "마포구", "101140", "seoul.mapo-gu", "월드컵북로"),
    District("서울", "서울특별시", "구로구", "101070", "seoul.guro-gu", "디지털로"),
    District("서울", "서울특별시", "금천구", "101080", "seoul.geumcheon-gu", "가산디지털1로"),
    District("서울", "서울특별시", "영등포구", "101190", "seoul.yeongdeungpo-gu", "여의대로"),
    District("서울", "서울특별시", "중구", "101240", "seoul.jung-gu", "세종대로"),
    District("경기", "경기도", "성남시 분당구", "102190", "gyeonggi.seongnam-si", "판교역로"),
    District("경기", "경기도", "수원시 영통구", "102240", "gyeonggi.suwon-si", "광교로"),
    District("부산", "부산광역시", "해운대구", "106140", "busan.haeundae-gu", "센텀중앙로"),
    District("대전", "대전광역시", "유성구", "105050", "daejeon.yuseong-gu", "대학로"),
)

COMPANY_STEMS = (
    "가온누리", "나래솔", "다온빛", "라온결", "마루별", "바다온", "새움터", "아라찬", "자람터",
    "초록결", "카리온", "토브랩", "파랑길", "하람솔", "해솔결", "한빛나루", "온새미", "미르안",
    "슬기온", "이음결",
)  # fmt: skip
COMPANY_TAILS = (
    "소프트",
    "랩스",
    "테크",
    "네트웍스",
    "모빌리티",
    "페이",
    "헬스",
    "커머스",
    "데이터",
)
COMPANY_LATIN = ("Gaon", "Narae", "Daon", "Raon", "Maru", "Bada", "Saeum", "Ara", "Jaram", "Chorok")
INDUSTRIES = (
    ("301", "솔루션·SI·ERP·CRM"),
    ("302", "웹에이젼시"),
    ("305", "쇼핑몰·오픈마켓"),
    ("306", "포털·인터넷·컨텐츠"),
    ("308", "모바일·APP"),
)

ROLES = (
    ("백엔드 개발자", "Backend Engineer", 1, "서버/백엔드 개발자", 872, "84", "백엔드/서버개발"),
    ("서버 엔지니어", "Server Engineer", 1, "서버/백엔드 개발자", 872, "84", "백엔드/서버개발"),
    ("프론트엔드 개발자", "Frontend Engineer", 2, "프론트엔드 개발자", 669, "92", "프론트엔드"),
    ("풀스택 개발자", "Full Stack Engineer", 3, "웹 풀스택 개발자", 10110, "2232", "풀스택"),
    ("안드로이드 개발자", "Android Engineer", 4, "안드로이드 개발자", 677, "195", "앱개발"),
    ("iOS 개발자", "iOS Engineer", 5, "iOS 개발자", 678, "195", "앱개발"),
    ("머신러닝 엔지니어", "ML Engineer", 8, "인공지능/머신러닝", 1634, "181", "AI(인공지능)"),
    (
        "데브옵스 엔지니어",
        "DevOps Engineer",
        9,
        "devops/시스템 엔지니어",
        674,
        "80",
        "SE(시스템엔지니어)",
    ),
    ("데이터 엔지니어", "Data Engineer", 11, "빅데이터 엔지니어", 655, "82", "데이터엔지니어"),
    ("QA 엔지니어", "QA Engineer", 16, "QA 엔지니어", 676, "88", "QA/테스터"),
)

SKILLS = (
    "Java", "Kotlin", "Spring Boot", "Python", "Django", "FastAPI", "Go", "Node.js", "TypeScript",
    "React", "Vue.js", "MySQL", "PostgreSQL", "Redis", "Kafka", "Kubernetes", "AWS", "Docker",
    "C++", "Swift", "Terraform", "Airflow", "Spark", "GraphQL",
)  # fmt: skip

TEAMS = (
    "결제플랫폼",
    "주문/배송",
    "R&D센터",
    "검색·추천",
    "데이터플랫폼",
    "정산",
    "B2B SaaS",
    "글로벌",
)
TITLE_NOTES = (
    "채용",
    "모집",
    "(경력)",
    "(신입/경력)",
    "경력 채용",
    "[전문연구요원 가능]",
    "(재택 병행)",
)

SALARIES = (
    ("0", "회사내규에 따름"),
    ("9", "2,600~2,800만원"),
    ("12", "3,200~3,400만원"),
    ("16", "4,000~5,000만원"),
    ("20", "6,000~7,000만원"),
    ("99", "면접후 결정"),
)

TASKS = (
    "신규 서비스의 API 설계와 구현",
    "대용량 트래픽을 견디는 구조로 개선",
    "배치와 스트리밍 파이프라인 운영",
    "테스트 자동화와 배포 절차 정비",
    "장애 분석과 재발 방지 문서 작성",
    "레거시 모듈의 단계적 이전",
)
REQUIREMENTS = (
    "컴퓨터공학 기초와 자료구조에 대한 이해",
    "한 가지 이상의 언어로 실무 서비스를 운영한 경험",
    "관계형 데이터베이스 모델링 경험",
    "코드 리뷰와 문서로 협업하는 습관",
    "문제를 수치로 정의하고 확인하는 태도",
)
PREFERRED = (
    "MSA 환경에서의 개발 경험",
    "쿠버네티스 운영 경험",
    "오픈소스 기여 경험",
    "도메인 주도 설계 경험",
)
BENEFITS = ("자율 출퇴근", "연 100만원 교육비", "종합 건강검진", "점심 제공", "장비 선택 지원")
