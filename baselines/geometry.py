"""Refuses the import of a package that is gone, and says where its parts are."""

raise ImportError(
    "baselines.geometry is gone: a point is a genorth.Place, its curves are in "
    "genorth.geometry.retractions, and the paper's geometry is in baselines.paper.geometry; see "
    "'Migrating' in CHANGELOG.md"
)
