"""From tidy rows to what people read: one Report per experiment, and the page of them all."""
