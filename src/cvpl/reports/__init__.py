"""Reports: results rendered as pages, Markdown, PDF, notebook views and terminal output."""
