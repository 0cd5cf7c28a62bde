"""How a Riemannian solver computes at a point: "fast", "products", and "faithful" to the paper."""
