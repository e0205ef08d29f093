"""Results as one page that opens anywhere, without a network: charts, tables, suspected label errors.

    values, and what else there is ──► facts, shown, map, groups, suspects, curves ──► payload ──► page
                                       each a small dict, or the reason why not        JSON       one HTML file

Python decides what is told and packs it; the scripts in `assets` draw it. All that comes from the user's data reaches
the page as JSON and is shown as text, never as markup. `compact_html` is the small relative for notebooks.
"""

from pivotal.report._compact import compact_html
from pivotal.report._report_file import write_report

__all__ = ["compact_html", "write_report"]
