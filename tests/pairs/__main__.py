"""python -m tests.pairs"""

import sys

from tests.pairs.main import main

sys.exit(main())
