"""python -m tests.long.conformance.designs"""

import sys

from tests.long.conformance.designs.main import main

sys.exit(main())
