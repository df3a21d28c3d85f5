"""What happens to the data before graphs are built: scaling, missing values, outliers, sparse storage, counts."""
