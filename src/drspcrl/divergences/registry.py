"""The balls by name."""

from typing import TYPE_CHECKING

from drspcrl.display import shown
from drspcrl.errors import InputError
from drspcrl.registry import Entry, Registry

if TYPE_CHECKING:
    from drspcrl.divergences.base import Divergence

DIVERGENCES = Registry(
    "divergence",
    {
        "kl": Entry(
            "drspcrl.divergences.kl:KL", "KL", "Kullback-Leibler ball: the paper's, tilts by exp"
        ),
        "chi2": Entry("drspcrl.divergences.chi_squared:ChiSquared", "χ²", "χ² ball"),
        "tv": Entry(
            "drspcrl.divergences.total_variation:TotalVariation", "TV", "total-variation ball"
        ),
        "cvar": Entry("drspcrl.divergences.cvar:CVaR", "CVaR", "bounded density ratio: CVaR"),
        "cressie_read": Entry(
            "drspcrl.divergences.f_divergence:CressieRead", "Hellinger", "Cressie-Read of power ½"
        ),
        "wasserstein": Entry(
            "drspcrl.divergences.wasserstein:Wasserstein",
            "W₂",
            "Wasserstein ball: moves states (hops in finite MDPs), to first order in training",
        ),
    },
)


def divergence_class(name: str) -> "type[Divergence]":
    """The class of a ball.

    Raises:
        InputError: no such ball, or something else of that name.
    """
    from drspcrl.divergences.base import Divergence

    found = DIVERGENCES.load(name)
    if not (isinstance(found, type) and issubclass(found, Divergence)):
        raise InputError(
            f"divergence {shown(name)} is no subclass of drspcrl.divergences.Divergence; write "
            "one (docs say how), or choose one of " + ", ".join(DIVERGENCES)
        )
    return found
