"""P-CHECK's saliency: how much a criterion keeps what a person chose apart from what they did not.

For one choice with the chosen response y⁺ and negatives Y⁻ (Seo and Lee, P-CHECK, section 3.3):

    saliency(k) = [Σ_{j≠k} f_j(Y⁻)] / [Σ_{j≠k} f_j(y⁺) + ε] − [Σ_j f_j(Y⁻)] / [Σ_j f_j(y⁺) + ε]

with f_j(Y⁻) the mean over the negatives. Of a person's whole history it is the mean over their choices; then
ReLU, and normalised to sum 1.

P-CHECK asks an LLM for f_j, from 1 to 10. Here f_j = 1 + 9 p_j, where p_j is the probability that the CRM
states that the response meets criterion j, polarity included, better than the average response to its query:
P-CHECK's scale, and no sum is ever near 0. The negatives of a choice are its rejected response, which alone
was seen and not taken, and for more contrast those rejected elsewhere in the history: one half each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from crm.protocol import probabilities

EPSILON = 1e-6
LOWEST, HIGHEST = 1.0, 10.0
"""Of the scale of f."""

Floats64 = NDArray[np.float64]


def met(relative: NDArray[np.floating]) -> Floats64:
    """f of responses, by their margins over the average response to their query; any shape."""
    return LOWEST + (HIGHEST - LOWEST) * np.asarray(probabilities(relative), dtype=np.float64)


def with_contrast(rejected: Floats64) -> Floats64:
    """f(Y⁻) of each choice, from f of the rejected responses ``[C, J]``."""
    return np.asarray((rejected + rejected.mean(axis=0)) / 2, dtype=np.float64)


def saliency(chosen: Floats64, negative: Floats64) -> Floats64:
    """Mean saliency of J criteria over C choices ``[J]``, not yet rectified.

    Args:
        chosen: f of the chosen responses ``[C, J]``.
        negative: f of their negatives, the mean where there are several ``[C, J]``.
    """
    positives, negatives = (each.sum(axis=1, keepdims=True) for each in (chosen, negative))
    without = (negatives - negative) / (positives - chosen + EPSILON)
    return np.asarray((without - negatives / (positives + EPSILON)).mean(axis=0), dtype=np.float64)


def saliency_weights(found: Floats64) -> Floats64:
    """Weights ``[J]`` that sum to 1; all zero where no criterion is salient."""
    positive = np.maximum(found, 0)
    total = float(positive.sum())
    return positive / total if total > 0 else positive
