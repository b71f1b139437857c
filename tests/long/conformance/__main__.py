"""python -m tests.long.conformance"""

import sys

from tests.long.conformance.main import main

sys.exit(main())
