"""python -m tests.long.pairs"""

import sys

from tests.long.pairs.main import main

sys.exit(main())
