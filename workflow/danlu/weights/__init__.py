"""From a training checkpoint to the Hugging Face layout, checked against the stored logits."""
