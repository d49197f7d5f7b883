"""Files and dataframes as DuckDB tables of text: formats, encodings, dialects, and limits."""
