"""PyTorch's own operator tables (``op_db``) run against torchlike, column by column."""
