"""What the parts of sfgen ask of each other. Anything of the right shape will do; nothing is inherited.

This is below everything else. ``sfgen.index.BaseGuide`` has a default for what a guide
lacks.
"""

from sfgen.protocols.bans import BannedText, FindsTokens, Matcher
from sfgen.protocols.constraints import (
    Constraint,
    Guide,
    GuideSource,
    GuidingConstraint,
    HasGroups,
    HasParser,
    HasReadings,
    HasSuperset,
    HasTemperatures,
    HasValue,
    Superset,
    TakesOutBans,
)
from sfgen.protocols.models import (
    Batch,
    BatchScoresEverywhere,
    BatchScoresRows,
    HasBatch,
    Model,
    ScoresEverywhere,
    ScoresRows,
    Session,
)
from sfgen.protocols.tokens import Answer, Int32, Mask, Scores, Tokens

__all__ = [
    "Answer",
    "BannedText",
    "Batch",
    "BatchScoresEverywhere",
    "BatchScoresRows",
    "Constraint",
    "FindsTokens",
    "Guide",
    "GuideSource",
    "GuidingConstraint",
    "HasBatch",
    "HasGroups",
    "HasParser",
    "HasReadings",
    "HasSuperset",
    "HasTemperatures",
    "HasValue",
    "Int32",
    "Mask",
    "Matcher",
    "Model",
    "Scores",
    "ScoresEverywhere",
    "ScoresRows",
    "Session",
    "Superset",
    "TakesOutBans",
    "Tokens",
]
