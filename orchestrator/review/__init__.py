"""Who looks at a draft before it becomes memory: the checks, a model, a person."""
