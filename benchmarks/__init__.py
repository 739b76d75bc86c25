"""Measurements of onepen; each figure stands beside a reference measured in the same run."""
