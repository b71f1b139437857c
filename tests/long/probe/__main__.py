"""python -m tests.long.probe"""

import sys

from tests.long.probe.main import main

sys.exit(main())
