"""python -m tests.conformance"""

import sys

from tests.conformance.main import main

sys.exit(main())
