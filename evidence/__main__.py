"""python -m evidence"""

import sys

from evidence.main import main

sys.exit(main())
