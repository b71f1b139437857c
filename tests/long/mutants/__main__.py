"""python -m tests.long.mutants"""

import sys

from tests.long.mutants.main import main

sys.exit(main())
