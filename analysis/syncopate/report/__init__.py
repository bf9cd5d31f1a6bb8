"""The report of result folders, as a page or as figures."""
