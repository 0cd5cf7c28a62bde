r"""
4. Train a model
================

A weight matrix of a model can be on a manifold too. This page trains a small network in JAX whose
first layer has orthonormal columns, :math:`W^\top W = I`, with Adam of Optax. :doc:`/jax` and
:doc:`/pytorch` have the details; in PyTorch, ``constrain(model[0], "weight", manifold)`` does the
same.
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import optax

import genorth as go
from genorth.interop.optax import dissolve, finish

# %%
# The data: two classes in 20 dimensions, which differ by the radius in two hidden directions.

keys = jax.random.split(jax.random.key(0), 3)
x = jax.random.normal(keys[0], (600, 20))
hidden = jnp.linalg.qr(jax.random.normal(keys[1], (20, 2)))[0]
y = jnp.where(jnp.sum((x @ hidden) ** 2, axis=1) > 1.4, 1.0, -1.0)

# %%
# The model projects the data to the plane spanned by the columns of :math:`W` and classifies by the
# radius there. ``dissolve`` makes an unconstrained loss: it evaluates the model at
# :math:`\mathcal A(W)` and adds the penalty :math:`\frac\beta2\lVert W^\top W - I\rVert^2`.

stiefel = go.Stiefel(20, 2)


def loss(params):
    radius = jnp.sum((x @ params["W"]) ** 2, axis=1)
    return jnp.mean(jnp.log1p(jnp.exp(-y * params["scale"] * (radius - params["bias"]))))


manifolds = {"W": stiefel, "bias": None, "scale": None}
start = stiefel.random_point(rng=0)
params = {"W": jnp.asarray(start), "bias": jnp.array(1.0), "scale": jnp.array(1.0)}
dissolved = dissolve(loss, manifolds)

# %%
# Then any optimiser will do.

optimizer = optax.adam(0.03)
state = optimizer.init(params)
step = jax.jit(jax.value_and_grad(dissolved))
losses, violations = [], []
for _ in range(400):
    value, gradient = step(params)
    losses.append(float(value))
    violations.append(float(stiefel.feasibility(dissolved.params(params)["W"])))
    updates, state = optimizer.update(gradient, state)
    params = optax.apply_updates(params, updates)

# %%
# ``finish`` puts the weight on the manifold up to rounding. The columns of :math:`W` then span the
# hidden plane almost exactly: the cosines of the angles between the two planes are close to 1.

params = finish(dissolved.params(params), manifolds)
cosines = jnp.linalg.svd(params["W"].T @ hidden)[1]
print(f"|W^T W - I| = {stiefel.feasibility(params['W']):.0e}, cosines {cosines.round(3)}")

# %%
# The loss, the violation during the training, and the data in the plane that was found:

_, (left, middle, right) = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
left.plot(losses)
left.set(title="loss", xlabel="step")
middle.semilogy(violations)
middle.set(title="violation of the weight in use", xlabel="step")
plane = x @ params["W"]
for label, marker in ((1.0, "."), (-1.0, "x")):
    right.plot(*plane[y == label].T, marker, markersize=4)
right.set(title="the data, projected by W", aspect="equal")
plt.show()

# %%
# ``genorth.training`` compares ways to train, with tuned step sizes: :doc:`/pytorch` shows three
# examples. You have seen the four parts of genorth; :doc:`/index` lists the guides.
