"""python -m tests.conformance.designs"""

import sys

from tests.conformance.designs.main import main

sys.exit(main())
