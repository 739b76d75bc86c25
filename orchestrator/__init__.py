"""What happens next, and the one place where it is done: plan, driver, models, review, service, commands."""
