"""Phase that another program logged: recognised by its form, or as columns of numbers; what is ambiguous is refused."""
