"""Refuses the import of a package that is gone, and says where its parts are."""

raise ImportError(
    "baselines.riemannian is gone: the solvers are in genorth.riemannian, and what its Run did is "
    "done by genorth.riemannian.run.OnManifold, which takes no geometry; see 'Migrating' in "
    "CHANGELOG.md"
)
