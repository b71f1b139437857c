"""python -m tests.long.fuzz"""

import sys

from tests.long.fuzz.main import main

sys.exit(main())
