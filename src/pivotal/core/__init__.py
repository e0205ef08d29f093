"""The mathematics and the vocabulary: what is computed, in NumPy and SciPy alone.

games            the utilities, each defined in exact fractions; `conventions` has those of other packages
semivalues       how coalitions are drawn; `quadrature` integrates over them
weights          distances to weights; `voting` turns weights into integer votes
label_encoding   labels of any kind to class codes and responses, the one place; `labels` checks them, `indicators` has
                 many per point
query_weights    how much each query counts
coalitions       all coalitions of a few players, and values by definition; `verify` checks values against them
given            arguments that were given, distinguished from defaults
identity         a token for any function, object or array, made of its content
validation       checks of arguments, and their messages; `random` for seeds
metric_settings  the metric of a valuation in its settings, and back; `frozen` keeps settings as they are
atomic           files that are whole or not there, on a disk or at a URL (`urls`, `regular_files`)
threads          work over threads, interruption; `progress` shows it, `notices` warns and logs
lazy, providers  modules imported when first used; what rooms further down provide; `extras` names missing packages
"""

from pivotal.core.lazy import submodules_of

__getattr__ = submodules_of(__name__)
