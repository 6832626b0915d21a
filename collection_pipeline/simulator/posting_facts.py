"""One invented posting as plain facts, before a platform spells it.

Invariant: the facts follow from (seed, platform, key, serial, version) alone. A higher version
changes the title, the skills and the salary, and nothing else, so an edit is visible in every
platform's list row.
"""

from dataclasses import dataclass
from random import Random

from collection_pipeline.simulator.vocabulary import (
    COMPANY_LATIN,
    COMPANY_STEMS,
    COMPANY_TAILS,
    DISTRICTS,
    INDUSTRIES,
    ROLES,
    SALARIES,
    SKILLS,
    TEAMS,
    TITLE_NOTES,
    District,
)

DATED, ALWAYS_OPEN, UNTIL_FILLED, ROLLING = "dated", "always_open", "until_filled", "rolling"


@dataclass(frozen=True, slots=True)
class Company:
    """A company: `spelled` is this posting's variant of the name, `plain` the bare one."""

    number: int
    plain: str
    spelled: str
    latin: str
    industry: tuple[str, str]


@dataclass(frozen=True, slots=True)
class PostingFacts:
    """What one posting says; `posted_minutes` and `deadline_day` count from the first run date."""

    serial: int
    number: int
    posting_id: str
    version: int
    title: str
    english_title: str
    role: tuple[str, str, int, str, int, str, str]
    company: Company
    district: District
    skills: tuple[str, ...]
    career_from: int
    career_to: int
    employment: str
    salary: tuple[str, str]
    remote: bool
    deadline_kind: str
    deadline_day: int
    posted_minutes: int
    dice: int

    def one_in(self, share: int, salt: int = 0) -> bool:
        """A fixed yes for about one posting in `share`; `salt` keeps the questions apart."""
        return (self.dice // (salt * 7 + 1)) % share == 0


def draw_posting(
    seed: str, serial: int, number: int, posting_id: str, version: int, posted_minutes: int
) -> PostingFacts:
    """The posting with this serial; `seed` already names platform and key."""
    chance = Random(f"{seed}|{serial}")
    role = chance.choice(ROLES)
    company = draw_company(chance)
    district = chance.choice(DISTRICTS)
    skills = tuple(chance.sample(SKILLS, chance.randint(2, 6)))
    newcomer = chance.random() < 0.2
    career_from = 0 if newcomer else chance.randint(1, 8)
    title = _title(chance, role[0], skills[0])
    salary = chance.choice(SALARIES)
    deadline_kind = chance.choices(
        (DATED, ALWAYS_OPEN, UNTIL_FILLED, ROLLING), weights=(62, 14, 16, 8)
    )[0]
    facts = PostingFacts(
        serial=serial,
        number=number,
        posting_id=posting_id,
        version=0,
        title=title,
        english_title=f"{chance.choice(('', 'Senior ', 'Junior '))}{role[1]} - {skills[0]}",
        role=role,
        company=company,
        district=district,
        skills=skills,
        career_from=career_from,
        career_to=0 if newcomer else career_from + chance.randint(2, 10),
        employment=chance.choices(("regular", "contract", "intern"), weights=(84, 10, 6))[0],
        salary=salary,
        remote=chance.random() < 0.15,
        deadline_kind=deadline_kind,
        deadline_day=max(0, posted_minutes // 1440) + chance.randint(10, 75),
        posted_minutes=posted_minutes,
        dice=chance.getrandbits(40),
    )
    return facts if version == 0 else _edited(facts, version)


def draw_company(chance: Random) -> Company:
    """A company; the same one turns up under several spellings of its name."""
    stem = chance.randrange(len(COMPANY_STEMS))
    tail = chance.randrange(len(COMPANY_TAILS))
    plain = COMPANY_STEMS[stem] + COMPANY_TAILS[tail]
    spelled = chance.choices(
        (plain, f"(주){plain}", f"주식회사 {plain}", f"{plain}㈜", f"{plain} 주식회사"),
        weights=(5, 3, 2, 1, 1),
    )[0]
    latin = COMPANY_LATIN[stem % len(COMPANY_LATIN)]
    number = 10_000 + stem * len(COMPANY_TAILS) + tail
    return Company(number, plain, spelled, latin, INDUSTRIES[tail % len(INDUSTRIES)])


def _title(chance: Random, role: str, skill: str) -> str:
    team, note = chance.choice(TEAMS), chance.choice(TITLE_NOTES)
    shape = chance.randrange(4)
    if shape == 0:
        return f"[{team}] {role} {note}"
    if shape == 1:
        return f"{role} ({skill}) {note}"
    if shape == 2:
        return f"{team} {role} {note}"
    return f"{skill} 기반 {role} {note}"


def _edited(facts: PostingFacts, version: int) -> PostingFacts:
    fresh = SKILLS[version % len(SKILLS)]
    skills = tuple(dict.fromkeys((fresh, *facts.skills)))
    salary = SALARIES[(SALARIES.index(facts.salary) + version) % len(SALARIES)]
    values = {name: getattr(facts, name) for name in PostingFacts.__slots__}
    values |= {
        "version": version,
        "title": f"[재공고 {version}차] {facts.title}",
        "english_title": f"{facts.english_title} (v{version + 1})",
        "skills": skills,
        "salary": salary,
    }
    return PostingFacts(**values)
