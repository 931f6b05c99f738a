"""The real supervisor over the fake worker and the fake msrun, as a process of its own.

python supervise.py RUN RECORDS TOKENIZER PATIENCE   (JSON, what differs from the default)
"""

import json
import sys
from pathlib import Path

from danlu.pretrain.attempt import Patience
from danlu.pretrain.layout import Paths
from danlu.pretrain.supervisor import Commands, pretrain

HERE = Path(__file__).parent

if __name__ == "__main__":
    run, records, tokenizer = (Path(argument).resolve() for argument in sys.argv[1:4])
    commands = Commands(
        worker=(str(HERE / "worker.py"),),
        msrun=(str(HERE / "msrun.py"),),
        follow=(sys.executable, str(HERE / "follow.py")),
        patience=Patience(**json.loads(sys.argv[4])),
    )
    sys.exit(pretrain(Paths(run, records, tokenizer), commands))
