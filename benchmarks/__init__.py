"""Speed and memory, each figure beside a baseline's that was measured in the same run."""
