"""python -m evidence.conformance"""

import sys

from evidence.conformance.main import main

sys.exit(main())
