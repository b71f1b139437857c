"""python -m evidence.answers"""

import sys

from evidence.answers.main import main

sys.exit(main())
