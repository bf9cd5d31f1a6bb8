"""The page of what simctl advise has found."""
