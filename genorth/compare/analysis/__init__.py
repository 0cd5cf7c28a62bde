"""Figures of records: rows, winners, targets, profiles. Data only: no text layout, no HTML."""
