"""From the Hugging Face layout to ONNX: the graph, its int8 variant, parity, and a session to run them."""
