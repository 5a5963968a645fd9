"""Second ways to the same tables and files: the models are tested and measured against them."""
