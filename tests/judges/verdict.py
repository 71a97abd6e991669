"""What came of one key or scenario of a judge."""
from dataclasses import dataclass, field


@dataclass
class Verdict:
    key: str
    is_passed: bool = False
    mark: str = ""  # what the judge itself says
    notes: list = field(default_factory=list)
