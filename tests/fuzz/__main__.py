"""python -m tests.fuzz"""

import sys

from tests.fuzz.main import main

sys.exit(main())
