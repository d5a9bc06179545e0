"""One thin module per experiment: what it USES, `check(settings)` its own keys, `run(settings, context)` to rows."""
