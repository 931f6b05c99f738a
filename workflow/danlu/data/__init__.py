"""The data that DVC versions: brought into place, and checked against the .dvc file.

What the Snakefile asks at every start (`dvc_md5`, `current`) imports nothing heavy.
"""

from danlu.data.dvcfile import dvc_md5
from danlu.data.verified import current

__all__ = ["current", "dvc_md5"]
