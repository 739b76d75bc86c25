"""The offline model: it finds and quotes, and writes no prose."""
