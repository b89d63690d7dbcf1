"""Pages in batches of Arrow, as Spark, Ray Data and other engines hand them out; of the extra `parquet`.

`clean` cleans the pages of a batch, `read` makes batches of files that an engine does not read, and `observe`
and `site_statistics` count what the pages of a site repeat, by which `clean` corrects them.
"""

from importlib.util import find_spec

from dehusk.streams.wording import how_to_install

if find_spec("pyarrow") is None:
    raise ModuleNotFoundError(f"dehusk.arrow needs an extra: {how_to_install('parquet')}")

from dehusk.arrow.cleaning import clean
from dehusk.arrow.reading import COLUMNS, PAGES, read
from dehusk.arrow.sites import observe, site_statistics, with_site

__all__ = ["COLUMNS", "PAGES", "clean", "observe", "read", "site_statistics", "with_site"]
