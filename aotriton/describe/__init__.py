"""The description layer: kernels, their choices and operators, in plain Python beside untouched Triton functions.

Nothing here imports Triton: sources are read as syntax trees.
"""

from __future__ import annotations

from aotriton.describe.choices import TYPES, Choice, Like, Value, When
from aotriton.describe.config import Config
from aotriton.describe.declaration import Descriptor, Exclude, Key, Performance, Strides
from aotriton.describe.expressions import Expression, parse_expression
from aotriton.describe.family import Family, load_family
from aotriton.describe.functional import Functional, stem
from aotriton.describe.kernel import Kernel
from aotriton.describe.operators import Affine, Backend, Limit, Metro, Operator, Step
from aotriton.describe.parameters import Argument, Axis, Parameter

__all__ = [
    "TYPES",
    "Affine",
    "Argument",
    "Axis",
    "Backend",
    "Choice",
    "Config",
    "Descriptor",
    "Exclude",
    "Expression",
    "Family",
    "Functional",
    "Kernel",
    "Key",
    "Like",
    "Limit",
    "Metro",
    "Operator",
    "Parameter",
    "Performance",
    "Step",
    "Strides",
    "Value",
    "When",
    "load_family",
    "parse_expression",
    "stem",
]
