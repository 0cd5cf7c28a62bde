"""`pytest benchmarks`: the scripts import each other by name, as they do when run one by one."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
