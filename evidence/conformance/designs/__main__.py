"""python -m evidence.conformance.designs"""

import sys

from evidence.conformance.designs.main import main

sys.exit(main())
