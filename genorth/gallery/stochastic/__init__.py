"""Models with weights on manifolds, trained by minibatches: `python -m genorth.gallery stochastic`.

Three trainings with data that installs by name (`tasks`), the ways to train them (`methods`), and
the comparison (`comparison`). PyTorch is imported where it is used.
"""
