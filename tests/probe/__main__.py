"""python -m tests.probe"""

import sys

from tests.probe.main import main

sys.exit(main())
