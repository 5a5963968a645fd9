"""Tasks for the runners of others; each module needs the extra `adapters`."""
