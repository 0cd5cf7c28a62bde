"""What a reader sees: columns, tables, sentences, plots, the report and the terminal."""
