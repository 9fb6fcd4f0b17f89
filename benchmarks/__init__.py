"""Measurements beside bare NumPy, ONNX Runtime and other peers: ``python -m benchmarks``."""
