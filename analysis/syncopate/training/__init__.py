"""Time to accuracy: trains a small task as records of dataflow say."""

import os

# Replays run beside each other, and give the same bits however many there are. numpy reads these when it is first imported.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
