"""A follower that dies at once where RUN/fake.json says so, else waits for its end."""

import json
import signal
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    run = Path(sys.argv[sys.argv.index("--run") + 1])
    if json.loads((run / "fake.json").read_text()).get("follower_dies"):
        sys.exit(5)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    (run / "followed").touch()
    time.sleep(600)
