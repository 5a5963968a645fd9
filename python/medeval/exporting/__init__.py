"""Published tables of the warehouse as files.

SQL has built every value and puts the rows in order; here they are only formatted and written.
"""
